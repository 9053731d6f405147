// Makers of the commands, one per file of this folder; main.cpp puts them in order.
#pragma once
#include <memory>

namespace penstock::cli {

class Command;
std::unique_ptr<Command> make_array_path();
std::unique_ptr<Command> make_bench();
std::unique_ptr<Command> make_bench_codecs();
std::unique_ptr<Command> make_cat();
std::unique_ptr<Command> make_cog_create();
std::unique_ptr<Command> make_cog_info();
std::unique_ptr<Command> make_cog_validate();
std::unique_ptr<Command> make_complete();
std::unique_ptr<Command> make_completion();
std::unique_ptr<Command> make_consolidate();
std::unique_ptr<Command> make_copy();
std::unique_ptr<Command> make_demo();
std::unique_ptr<Command> make_doctor();
std::unique_ptr<Command> make_dwi_fit();
std::unique_ptr<Command> make_explain();
std::unique_ptr<Command> make_help();
std::unique_ptr<Command> make_info();
std::unique_ptr<Command> make_op();
std::unique_ptr<Command> make_stats();
std::unique_ptr<Command> make_track();
std::unique_ptr<Command> make_tree();
std::unique_ptr<Command> make_verify();
std::unique_ptr<Command> make_version();

}  // namespace penstock::cli
