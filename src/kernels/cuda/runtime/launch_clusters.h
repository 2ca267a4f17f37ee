// Kernels whose blocks work in clusters: blocks next to each other that run at the same time and read each
// other's shared memory. From compute capability 9.0 on.
#pragma once

#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

inline constexpr unsigned kMostClusterBlocks = 8;  // that every such GPU can have

// As launch(), with so many blocks along x in a cluster; they divide the grid's.
void launch_kernel_in_clusters(Stream& s, const void* kernel, const Shape& shape, unsigned cluster_blocks,
                               void** params);

// Clusters of this kernel that the GPU runs at the same time; 0 where it has none.
int clusters_at_once(Stream& s, const void* kernel, const Shape& shape, unsigned cluster_blocks);

template <class... Params, class... Args>
void launch_in_clusters(Stream& s, void (*kernel)(Params...), const Shape& shape, unsigned cluster_blocks,
                        Args&&... args) {
  static_assert(sizeof...(Params) == sizeof...(Args));
  std::tuple<Params...> values(std::forward<Args>(args)...);
  std::apply(
      [&](auto&... value) {
        void* params[] = {&value...};
        launch_kernel_in_clusters(s, reinterpret_cast<const void*>(kernel), shape, cluster_blocks, params);
      },
      values);
}

#ifdef __CUDACC__

// Whether the code is for GPUs that have clusters. Where it is for older ones alone, newer ones compile that,
// without the instructions below.
constexpr bool has_code_for_clusters() {
  for (const int architecture : {__CUDA_ARCH_LIST__}) {
    if (architecture >= 900) return true;
  }
  return false;
}

// A barrier of all threads of a cluster, in two halves: what a thread has written before the first, those see
// that have passed the second. On older GPUs, which are never asked to, nothing.
__device__ inline void arrive_in_cluster() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}
__device__ inline void wait_for_cluster() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

// Writes four values to what is `p`, a multiple of 16 bytes, in this block's shared memory, in that of block
// `rank` of the cluster, which has started and has not ended.
__device__ inline void store_in_block(float* p, unsigned rank, const float4& value) {
#if __CUDA_ARCH__ >= 900
  const auto own = static_cast<unsigned>(__cvta_generic_to_shared(p));
  unsigned there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own), "r"(rank));
  asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(there), "f"(value.x), "f"(value.y),
               "f"(value.z), "f"(value.w)
               : "memory");
#endif
}

#endif

}  // namespace parlance::cuda
