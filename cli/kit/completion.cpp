// penstock completion
#include <algorithm>

#include "cli/commands.hpp"
#include "cli/kit/command.hpp"
#include "cli/kit/completion_script.hpp"

namespace penstock::cli {
namespace {

class Completion : public Command {
  std::string shell_;

 public:
  void usage(Usage& usage) override {
    Argument& shell = usage.argument("SHELL", shell_, "bash, zsh or fish");
    shell.kind = ValueKind::choice;
    shell.choices = {"bash", "zsh", "fish"};
    usage.example("source <(penstock completion bash)", "in ~/.bashrc");
    usage.example("source <(penstock completion zsh)", "in ~/.zshrc, after compinit");
    usage.example("penstock completion fish > ~/.config/fish/completions/penstock.fish", "once");
  }

  Result<int> run(Session& session) override {
    std::vector<CompletionEntry> entries;
    for (const CommandEntry& entry : commands()) {
      if (entry.group.empty()) continue;
      // "dwi fit" is found behind "dwi", which is no command itself.
      const std::string first(entry.name.substr(0, entry.name.find(' ')));
      if (std::ranges::find(entries, first, &CompletionEntry::name) == entries.end() && first != entry.name)
        entries.push_back({first, std::string(entry.group), {}});
      entries.push_back({std::string(entry.name), std::string(entry.summary), {}});
      entry.make()->usage(entries.back().usage);
    }
    session.out.print(shell_ == "bash"  ? bash_completion(entries)
                      : shell_ == "zsh" ? zsh_completion(entries)
                                        : fish_completion(entries));
    return 0;
  }
};

}  // namespace

std::unique_ptr<Command> make_completion() { return std::make_unique<Completion>(); }

}  // namespace penstock::cli
