/** The limits for the command that makes subtitles from speech (MED-34). */

const minute = 60_000;
const hour = 60 * minute;

export const transcriptionRules = {
  /** The time limit is the length of the file times this, but at least `leastMs` and at most `mostMs`. */
  timesItsLength: 3,
  leastMs: 10 * minute,
  mostMs: 6 * hour,
  memoryMb: 6_144,
  /**
   * The command may use as much CPU time as the time limit multiplied by this number. This limit also stops a child process that has left
   * the process group.
   */
  cores: 16,
  /** The maximum size of the command's temporary files, not including the sound. */
  scratchBytes: 1_024 * 1_024 * 1_024,
  /** The maximum size of the subtitles. */
  maxOutputBytes: 2 * 1_024 * 1_024,
  /** 16,000 samples of two bytes. */
  soundBytesASecond: 32_000,
  soundMs: hour,
  /** The time limit of the test that `doctor` runs. In this test, the program must also load its model. */
  trialMs: 2 * minute,
  soundMemoryMb: 2_048,
  /**
   * After this number of failed attempts, the transcription fails. An attempt that the worker releases does not count. An attempt in which
   * the worker died counts, so a file cannot make its worker die again and again.
   */
  attempts: 3,
  leaseMs: 10_000,
  renewalMs: 2_500,
  /** The time until the next try, if the program or ffmpeg is missing. If the disk has no room, the wait is shorter. */
  programWaitMs: hour,
  diskWaitMs: 5 * minute,
  faultWaitMs: minute,
} as const;

/** @param durationMs the duration of the file; null if it is unknown @returns the time limit of the command in milliseconds */
export function commandTime(durationMs: number | null): number {
  const { timesItsLength, leastMs, mostMs } = transcriptionRules;
  return Math.min(mostMs, Math.max(leastMs, (durationMs ?? mostMs) * timesItsLength));
}
