/*
 * kernel_lines.cpp: an Oclgrind plugin that notes which lines of the kernels ran; tools/coverage.sh builds and uses it.
 *
 * Appends to the file that PROFK_KERNEL_LINES names, for each line of a program that had a kernel launched, "FILE:LINE"
 * and 1 if an instruction of that line ran, else 0.  Names and numbers are those of cl/, by the #line directives of the
 * embedded texts.  Programs must be built with -cl-opt-disable -disable-llvm-passes: optimised, lines vanish, and where
 * unoptimised functions are inlined LLVM makes an instruction that Oclgrind does not know.  Threads only read the
 * tables and set flags.
 */
#include <oclgrind/Context.h>
#include <oclgrind/Kernel.h>
#include <oclgrind/KernelInvocation.h>
#include <oclgrind/Plugin.h>
#include <oclgrind/Program.h>

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/DebugLoc.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace {

class KernelLines : public oclgrind::Plugin {
public:
    explicit KernelLines(const oclgrind::Context *context) : Plugin(context) {}

    ~KernelLines() override
    {
        const char *path = std::getenv("PROFK_KERNEL_LINES");
        std::FILE *file = path != nullptr ? std::fopen(path, "a") : nullptr;

        if (file == nullptr) {
            std::fprintf(stderr, "kernel_lines: PROFK_KERNEL_LINES names no file that can be written\n");
            std::abort();
        }
        for (const auto &line : ran)
            std::fprintf(file, "%s %d\n", line.first.c_str(), line.second ? 1 : 0);
        std::fclose(file);
    }

    /* All functions of the program, so that a kernel which is never launched counts as not run. */
    void kernelBegin(const oclgrind::KernelInvocation *invocation) override
    {
        const oclgrind::Kernel *kernel = invocation->getKernel();
        const llvm::Module *module = kernel->getFunction()->getParent();

        if (!programs.insert(kernel->getProgram()->getUID()).second)
            return;
        for (const llvm::Function &function : *module)
            for (auto at = llvm::inst_begin(function); at != llvm::inst_end(function); ++at) {
                const llvm::DebugLoc &place = at->getDebugLoc();
                flags.erase(&*at); /* of a program that is gone, whose memory this one has */
                if (place && place.getLine() != 0)
                    flags[&*at] = &ran[name_of(place)];
            }
    }

    void instructionExecuted(const oclgrind::WorkItem *, const llvm::Instruction *instruction,
                             const oclgrind::TypedValue &) override
    {
        auto flag = flags.find(instruction);

        if (flag != flags.end())
            flag->second->store(true, std::memory_order_relaxed);
    }

    bool isThreadSafe() const override
    {
        return true;
    }

private:
    static std::string name_of(const llvm::DebugLoc &place)
    {
        return place->getFilename().str() + ":" + std::to_string(place.getLine());
    }

    std::map<std::string, std::atomic<bool>> ran;
    std::unordered_map<const llvm::Instruction *, std::atomic<bool> *> flags;
    std::unordered_set<unsigned long> programs;
};

KernelLines *plugin;

} // namespace

extern "C" void initializePlugins(oclgrind::Context *context)
{
    plugin = new KernelLines(context);
    context->registerPlugin(plugin);
}

extern "C" void releasePlugins(oclgrind::Context *context)
{
    context->unregisterPlugin(plugin);
    delete plugin;
    plugin = nullptr;
}
