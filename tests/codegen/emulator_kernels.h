// The kernels that several tests run.
#pragma once

namespace sinter::codegen::test {

/// c[i] = a[i] + b[i] for i < n.
inline const char *const kVectorAdd = R"(
define ptx_kernel void @vector_add(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c, i32 %n) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ctaid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %first = mul i32 %ctaid, %ntid
  %i = add i32 %first, %tid
  %inside = icmp ult i32 %i, %n
  br i1 %inside, label %body, label %end
body:
  %index = zext i32 %i to i64
  %pa = getelementptr float, ptr addrspace(1) %a, i64 %index
  %pb = getelementptr float, ptr addrspace(1) %b, i64 %index
  %pc = getelementptr float, ptr addrspace(1) %c, i64 %index
  %x = load float, ptr addrspace(1) %pa, align 4
  %y = load float, ptr addrspace(1) %pb, align 4
  %sum = fadd float %x, %y
  store float %sum, ptr addrspace(1) %pc, align 4
  br label %end
end:
  ret void
}
)";

/// out[block] = the sum of x[0 … ntid) of the block, by shuffles and shared memory; whole warps.
inline const char *const kBlockSum = R"(
@partial = internal addrspace(3) global [32 x float] undef, align 4
define internal float @warp_sum(float %x) {
  %a = call float @llvm.nvvm.shfl.sync.down.f32(i32 -1, float %x, i32 16, i32 31)
  %b = fadd float %x, %a
  %c = call float @llvm.nvvm.shfl.sync.down.f32(i32 -1, float %b, i32 8, i32 31)
  %d = fadd float %b, %c
  %e = call float @llvm.nvvm.shfl.sync.down.f32(i32 -1, float %d, i32 4, i32 31)
  %f = fadd float %d, %e
  %g = call float @llvm.nvvm.shfl.sync.down.f32(i32 -1, float %f, i32 2, i32 31)
  %h = fadd float %f, %g
  %i = call float @llvm.nvvm.shfl.sync.down.f32(i32 -1, float %h, i32 1, i32 31)
  %j = fadd float %h, %i
  ret float %j
}
define ptx_kernel void @block_sum(ptr %x, ptr %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ctaid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %warp = call i32 @llvm.nvvm.read.ptx.sreg.warpid()
  %first = mul i32 %ctaid, %ntid
  %i = add i32 %first, %tid
  %px = getelementptr float, ptr %x, i32 %i
  %value = load float, ptr %px, align 4
  %sum = call float @warp_sum(float %value)
  %leads = icmp eq i32 %lane, 0
  br i1 %leads, label %put, label %meet
put:
  %slot = getelementptr [32 x float], ptr addrspace(3) @partial, i32 0, i32 %warp
  store float %sum, ptr addrspace(3) %slot, align 4
  br label %meet
meet:
  call void @llvm.nvvm.barrier0()
  %firstWarp = icmp eq i32 %warp, 0
  br i1 %firstWarp, label %last, label %end
last:
  %warps = lshr i32 %ntid, 5
  %has = icmp ult i32 %lane, %warps
  br i1 %has, label %get, label %total
get:
  %from = getelementptr [32 x float], ptr addrspace(3) @partial, i32 0, i32 %lane
  %part = load float, ptr addrspace(3) %from, align 4
  br label %total
total:
  %mine = phi float [ 0.0, %last ], [ %part, %get ]
  %all = call float @warp_sum(float %mine)
  br i1 %leads, label %write, label %end
write:
  %pout = getelementptr float, ptr %out, i32 %ctaid
  store float %all, ptr %pout, align 4
  br label %end
end:
  ret void
}
)";

/// y = the transpose of x, of tiles of 32 x 32, by blocks of 32 x 8 threads. PITCH floats lie
/// between rows of the shared tile.
inline const char *const kTranspose = R"(
@tile = internal addrspace(3) global [32 x [PITCH x float]] undef, align 4
define ptx_kernel void @transpose(ptr addrspace(1) %x, ptr addrspace(1) %y, i32 %n) {
entry:
  %tx = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ty = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %bx = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %by = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %cx = shl i32 %bx, 5
  %cy = shl i32 %by, 5
  br label %load
load:
  %r = phi i32 [ %ty, %entry ], [ %r.next, %load ]
  %row = add i32 %cy, %r
  %column = add i32 %cx, %tx
  %at.row = mul i32 %row, %n
  %at = add i32 %at.row, %column
  %px = getelementptr float, ptr addrspace(1) %x, i32 %at
  %value = load float, ptr addrspace(1) %px, align 4
  %slot = getelementptr [32 x [PITCH x float]], ptr addrspace(3) @tile, i32 0, i32 %r, i32 %tx
  store float %value, ptr addrspace(3) %slot, align 4
  %r.next = add i32 %r, 8
  %more = icmp ult i32 %r.next, 32
  br i1 %more, label %load, label %meet
meet:
  call void @llvm.nvvm.barrier0()
  br label %store
store:
  %s = phi i32 [ %ty, %meet ], [ %s.next, %store ]
  %from = getelementptr [32 x [PITCH x float]], ptr addrspace(3) @tile, i32 0, i32 %tx, i32 %s
  %turned = load float, ptr addrspace(3) %from, align 4
  %orow = add i32 %cx, %s
  %ocolumn = add i32 %cy, %tx
  %oat.row = mul i32 %orow, %n
  %oat = add i32 %oat.row, %ocolumn
  %py = getelementptr float, ptr addrspace(1) %y, i32 %oat
  store float %turned, ptr addrspace(1) %py, align 4
  %s.next = add i32 %s, 8
  %again = icmp ult i32 %s.next, 32
  br i1 %again, label %store, label %end
end:
  ret void
}
)";

/// bins[x[i] & 15] += 1 by way of shared bins; 16 threads or more.
inline const char *const kHistogram = R"(
@bins = internal addrspace(3) global [16 x i32] undef, align 4
define ptx_kernel void @histogram(ptr addrspace(1) %x, ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ctaid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %few = icmp ult i32 %tid, 16
  %own = getelementptr [16 x i32], ptr addrspace(3) @bins, i32 0, i32 %tid
  br i1 %few, label %clear, label %cleared
clear:
  store i32 0, ptr addrspace(3) %own, align 4
  br label %cleared
cleared:
  call void @llvm.nvvm.barrier0()
  %first = mul i32 %ctaid, %ntid
  %i = add i32 %first, %tid
  %px = getelementptr i32, ptr addrspace(1) %x, i32 %i
  %value = load i32, ptr addrspace(1) %px, align 4
  %bin = and i32 %value, 15
  %slot = getelementptr [16 x i32], ptr addrspace(3) @bins, i32 0, i32 %bin
  %before = atomicrmw add ptr addrspace(3) %slot, i32 1 monotonic
  call void @llvm.nvvm.barrier0()
  br i1 %few, label %add, label %end
add:
  %mine = load i32, ptr addrspace(3) %own, align 4
  %pout = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  %old = atomicrmw add ptr addrspace(1) %pout, i32 %mine monotonic
  br label %end
end:
  ret void
}
)";

} // namespace sinter::codegen::test
