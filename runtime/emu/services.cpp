#include "services.h"

#include "block_runner.h"

namespace sinter::rt::emu {
namespace {

BlockRunner &runnerOf(const sinter_emu_thread *thread) {
  return *static_cast<const Block *>(thread->block)->runner;
}

/// Of a kernel that communicates.
Thread &self(const sinter_emu_thread *thread) {
  return *const_cast<Thread *>(static_cast<const Thread *>(thread));
}

uint32_t barrier(const sinter_emu_thread *thread, uint32_t id, uint32_t threads, uint32_t value,
                 uint32_t site) {
  return runnerOf(thread).barrier(self(thread), id, threads, value != 0, true, site);
}

void barrierArrive(const sinter_emu_thread *thread, uint32_t id, uint32_t threads, uint32_t site) {
  runnerOf(thread).barrier(self(thread), id, threads, false, false, site);
}

void warpBarrier(const sinter_emu_thread *thread, uint32_t mask, uint32_t site) {
  runnerOf(thread).meet(self(thread), {WarpOp::Barrier, 0, mask, 0, 0, 0}, site);
}

uint64_t shuffle(const sinter_emu_thread *thread, uint32_t mode, uint32_t mask, uint32_t value,
                 uint32_t lane, uint32_t clamp, uint32_t site) {
  return runnerOf(thread).meet(self(thread), {WarpOp::Shuffle, mode, mask, value, lane, clamp},
                               site);
}

uint64_t ballot(const sinter_emu_thread *thread, uint32_t mask, uint32_t value, uint32_t site) {
  return runnerOf(thread).meet(self(thread), {WarpOp::Ballot, 0, mask, value, 0, 0}, site);
}

uint32_t reduce(const sinter_emu_thread *thread, uint32_t operation, uint32_t mask, uint32_t value,
                uint32_t site) {
  return uint32_t(
      runnerOf(thread).meet(self(thread), {WarpOp::Reduce, operation, mask, value, 0, 0}, site));
}

uint64_t match(const sinter_emu_thread *thread, uint32_t mask, uint64_t value, uint32_t site) {
  return runnerOf(thread).meet(self(thread), {WarpOp::Match, 0, mask, value, 0, 0}, site);
}

void *access(const sinter_emu_thread *thread, uint64_t address, uint32_t site) {
  return runnerOf(thread).access(*thread, address, site);
}

void trap(const sinter_emu_thread *thread, const char *reason, uint32_t site) {
  runnerOf(thread).trap(*thread, reason, site);
}

} // namespace

const sinter_emu_services services = {barrier, barrierArrive, warpBarrier, shuffle, ballot,
                                      reduce,  match,         access,      trap};

} // namespace sinter::rt::emu
