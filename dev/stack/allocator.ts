/** The settings of the C library's allocator for API and worker. docs/how-to/deploy.md explains how operators set them. */

/**
 * glibc raises its thresholds when large blocks are allocated and freed, and then keeps free memory between smaller blocks. The memory of
 * an API that hashes passwords and moves files grew by 15 MiB an hour. If the thresholds (bytes) are fixed, glibc returns large blocks
 * immediately.
 */
export const allocatorSettings: Readonly<Record<string, string>> = {
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '131072',
};
