/** The settings of the C library's allocator for API and worker; docs/how-to/deploy.md explains how operators set them. */

/**
 * glibc raises its thresholds when large blocks are allocated and freed. Then it keeps free memory between smaller blocks: the memory of
 * an API that hashes passwords and moves files grew by 15 MiB an hour. With fixed thresholds (bytes) it returns large blocks immediately.
 */
export const allocatorSettings: Readonly<Record<string, string>> = {
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '131072',
};
