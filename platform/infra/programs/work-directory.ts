/** Directories for working files. Each is removed after its work. If the process was killed, the next process removes it. */
import { lstat, mkdtemp, readdir, rm, statfs } from 'node:fs/promises';
import path from 'node:path';

/** The process id and a unique suffix follow. */
const prefix = 'club-learning-work-';
const named = /^club-learning-work-(\d+)-\w+$/;

/** @param root exists @throws the error of `work` */
export async function inWorkDirectory<T>(root: string, work: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(path.join(root, `${prefix}${process.pid}-`));
  try {
    return await work(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

export async function freeBytes(root: string): Promise<number> {
  const { bavail, bsize } = await statfs(root);
  return bavail * bsize;
}

/** @returns the size; a file that disappears meanwhile has 0 bytes */
export async function bytesIn(directory: string): Promise<number> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const sizes = entries
    .filter((entry) => entry.isFile())
    .map((entry) =>
      lstat(path.join(entry.parentPath, entry.name)).then(
        ({ size }) => size,
        () => 0,
      ),
    );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/** Called at the start. The name contains the process id; other directories stay. */
export async function removeAbandoned(root: string): Promise<void> {
  const abandoned = (await readdir(root)).filter((name) => {
    const [, pid] = named.exec(name) ?? [];
    // In a container, the process may get the same id at every start.
    return pid !== undefined && (Number(pid) === process.pid || !isAlive(Number(pid)));
  });
  await Promise.all(abandoned.map((name) => rm(path.join(root, name), { recursive: true, force: true })));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
