// To be loaded before a program (LD_PRELOAD): fails one allocation, or the threads beyond a limit, after main() begins.
//   SCARCE_ALLOCATION=N  the N-th allocation fails, the first being 1
//   SCARCE_STACK=FILE     where the call stack of that allocation is written
//   SCARCE_THREADS=N     so many threads may live beside the main one
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* old, std::size_t bytes);
}

namespace {

std::atomic<long> allocations{0}, threads{0};
long failing_allocation = 0, max_threads = -1;  // set before main() begins
const char* stack_file = nullptr;
std::atomic<bool> begun{false};
int (*program)(int, char**, char**) = nullptr;

long number(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtol(text, nullptr, 10);
}

void write_stack() {
  void* frames[64];
  const int file = ::open(stack_file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::backtrace_symbols_fd(frames, ::backtrace(frames, 64), file);
  ::close(file);
}

bool fails() {
  if (!begun || failing_allocation == 0 || ++allocations != failing_allocation) return false;
  if (stack_file != nullptr) write_stack();
  errno = ENOMEM;
  return true;
}

int counted_main(int argc, char** argv, char** environment) {
  failing_allocation = number("SCARCE_ALLOCATION", 0);
  max_threads = number("SCARCE_THREADS", -1);
  stack_file = std::getenv("SCARCE_STACK");
  void* frame = nullptr;
  ::backtrace(&frame, 1);  // its first call allocates
  begun = true;
  return program(argc, argv, environment);
}

struct Start {
  void* (*run)(void*);
  void* argument;
};

void* counted_thread(void* given) {
  const Start start = *static_cast<Start*>(given);
  std::free(given);
  void* const result = start.run(start.argument);
  --threads;
  return result;
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

void* malloc(std::size_t bytes) { return fails() ? nullptr : __libc_malloc(bytes); }
void* calloc(std::size_t count, std::size_t bytes) { return fails() ? nullptr : __libc_calloc(count, bytes); }
void* realloc(void* old, std::size_t bytes) { return fails() ? nullptr : __libc_realloc(old, bytes); }

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  if (++threads > max_threads && max_threads >= 0) {
    --threads;
    return EAGAIN;
  }
  auto* const start = static_cast<Start*>(__libc_malloc(sizeof(Start)));
  *start = {run, argument};
  const int failed = next<decltype(pthread_create)>("pthread_create")(thread, attributes, counted_thread, start);
  if (failed != 0) --threads;
  return failed;
}

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(), void (*fini)(),
                      void (*linker_fini)(), void* stack_end) {
  program = main;
  return next<decltype(__libc_start_main)>("__libc_start_main")(counted_main, argc, argv, init, fini, linker_fini,
                                                                stack_end);
}
}
