// Makers of the commands, one per file of this folder; main.cpp puts them in order.
#pragma once
#include <memory>

namespace penstock::cli {

class Command;
std::unique_ptr<Command> make_completion();
std::unique_ptr<Command> make_doctor();
std::unique_ptr<Command> make_help();

}  // namespace penstock::cli
