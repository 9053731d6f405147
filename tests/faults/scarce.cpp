// To be loaded before a program (LD_PRELOAD): fails one allocation, one thread, or the threads beyond a limit.
//   SCARCE_ALLOCATION=N  the N-th allocation after main() begins fails, the first being 1
//   SCARCE_THREAD=N      the N-th creation of a thread fails
//   SCARCE_THREADS=N     so many threads may live beside the main one
//   SCARCE_STACK=FILE    where the call stack of what failed is written; for SCARCE_EACH to FILE.N, and it stays only
//                        where the child ended neither with success nor with exit code 71, or SCARCE_WHICH is given
//   SCARCE_EACH=WHAT     runs main() in a child process for the first "allocation" or "thread" to fail, then for the
//                        second, ... until there are no more
//   SCARCE_STEP=N        SCARCE_EACH fails every N-th of them only
//   SCARCE_RESULTS=FILE  where SCARCE_EACH writes a line for each: which, the child's status as of waitpid, and how
//                        many there were until the child ended
//   SCARCE_WHICH=FILE    a pipe from which SCARCE_EACH takes which is to fail, a line of a number each, until it
//                        is closed: who writes there looks at what each child left before the next one begins
// A program that wants this of a part of it calls scarce_each() itself (SCARCE_EACH=part).
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* old, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
}

namespace {

constexpr unsigned kHangsAfterSeconds = 60;
constexpr int kOutOfMemory = 71;  // exit code

struct Counts {
  std::atomic<long> allocations{0}, threads_made{0};
  std::atomic<bool> reached{false};  // what was to fail did
};
Counts own_counts;
Counts* counts = &own_counts;  // of SCARCE_EACH: seen by the parent
std::atomic<long> threads{0};
long failing_allocation = 0, failing_thread = 0, max_threads = -1;  // set before counting begins
char stack_file[4096] = "";
std::atomic<bool> counting{false};
int (*program)(int, char**, char**) = nullptr;

long number(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtol(text, nullptr, 10);
}

/// n: of many; 0: of one.
void name_stack(long n) {
  const char* const file = std::getenv("SCARCE_STACK");
  if (file != nullptr) std::snprintf(stack_file, sizeof stack_file, n == 0 ? "%s" : "%s.%ld", file, n);
}

void write_stack() {
  if (stack_file[0] == '\0') return;
  void* frames[64];
  const int file = ::open(stack_file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::backtrace_symbols_fd(frames, ::backtrace(frames, 64), file);
  ::close(file);
}

bool allocation_fails() {
  if (!counting || failing_allocation == 0 || ++counts->allocations != failing_allocation) return false;
  counts->reached = true;
  write_stack();
  errno = ENOMEM;
  return true;
}

bool thread_fails() {
  if (!counting) return false;
  if (failing_thread != 0 && ++counts->threads_made == failing_thread) {
    counts->reached = true;
    write_stack();
    return true;
  }
  return max_threads >= 0 && threads >= max_threads;
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

/// The status of a child that runs work(argument) with the n-th allocation or thread failing.
int run_child(bool is_thread, long n, int (*work)(void*), void* argument) {
  new (counts) Counts();
  name_stack(n);
  const pid_t child = ::fork();
  if (child < 0) return -1;
  if (child == 0) {
    (is_thread ? failing_thread : failing_allocation) = n;
    ::alarm(kHangsAfterSeconds);
    counting = true;
    std::exit(work(argument));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

/// The next number of the pipe, 0 where it was closed.
long asked_for(int pipe) {
  char text[32] = "";
  for (std::size_t i = 0; i + 1 < sizeof text; ++i)
    if (::read(pipe, text + i, 1) != 1 || text[i] == '\n') break;
  return std::strtol(text, nullptr, 10);
}

/// Runs work(argument) in a child for each allocation or thread that it asks for, with that one failing.
int each(const char* what, int (*work)(void*), void* argument) {
  void* const page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const int results = ::open(std::getenv("SCARCE_RESULTS"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const char* const which = std::getenv("SCARCE_WHICH");
  const int asking = which == nullptr ? -1 : ::open(which, O_RDONLY | O_CLOEXEC);
  if (page == MAP_FAILED || results < 0 || (which != nullptr && asking < 0)) return 2;
  counts = static_cast<Counts*>(page);
  const bool is_thread = std::strcmp(what, "thread") == 0;
  const long step = number("SCARCE_STEP", 1);
  for (long n = 1;; n += step) {
    if (asking >= 0) n = asked_for(asking);
    if (n == 0) return 0;
    const int status = run_child(is_thread, n, work, argument);
    if (status < 0) return 2;
    if (asking < 0 && !counts->reached) return 0;
    const bool ended_well = WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == kOutOfMemory);
    if (asking < 0 && ended_well) ::unlink(stack_file);
    ::dprintf(results, "%ld %d %ld\n", n, status, (is_thread ? counts->threads_made : counts->allocations).load());
  }
}

struct Arguments {
  int argc;
  char** argv;
  char** environment;
};

int counted_main(int argc, char** argv, char** environment) {
  void* frame = nullptr;
  ::backtrace(&frame, 1);  // its first call allocates
  const char* const what = std::getenv("SCARCE_EACH");
  if (what != nullptr && std::strcmp(what, "part") == 0) return program(argc, argv, environment);
  if (what != nullptr) {
    Arguments given{argc, argv, environment};
    return each(
        what,
        [](void* a) {
          const auto& arguments = *static_cast<Arguments*>(a);
          return program(arguments.argc, arguments.argv, arguments.environment);
        },
        &given);
  }
  failing_allocation = number("SCARCE_ALLOCATION", 0);
  failing_thread = number("SCARCE_THREAD", 0);
  max_threads = number("SCARCE_THREADS", -1);
  name_stack(0);
  counting = true;
  return program(argc, argv, environment);
}

}  // namespace

extern "C" {

/// For programs: as SCARCE_EACH; with SCARCE_ALLOCATION or SCARCE_THREAD only that one, in this process.
int scarce_each(const char* what, int (*work)(void*), void* argument) {
  failing_allocation = number("SCARCE_ALLOCATION", 0);
  failing_thread = number("SCARCE_THREAD", 0);
  name_stack(0);
  if (failing_allocation == 0 && failing_thread == 0) return each(what, work, argument);
  counting = true;
  return work(argument);
}
/// Nothing fails from now on.
void scarce_end() { counting = false; }

void* malloc(std::size_t bytes) { return allocation_fails() ? nullptr : __libc_malloc(bytes); }
void* calloc(std::size_t count, std::size_t bytes) {
  return allocation_fails() ? nullptr : __libc_calloc(count, bytes);
}
void* realloc(void* old, std::size_t bytes) { return allocation_fails() ? nullptr : __libc_realloc(old, bytes); }
void* memalign(std::size_t alignment, std::size_t bytes) {
  return allocation_fails() ? nullptr : __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) {
  void* const made = memalign(alignment, bytes);
  if (made == nullptr) return ENOMEM;
  *out = made;
  return 0;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  if (thread_fails()) return EAGAIN;
  ++threads;
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
