/** The OCR program that adds a text layer to scanned pages, such as ocrmypdf: how to start and check it (DEC-172). */
import { open, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { findProgram, runCommand } from './placeholder-command.ts';
import { inWorkDirectory } from './work-directory.ts';

/** The values of the placeholders. Languages have their names in tesseract; pages are such as `1-3,7`. */
export interface OcrTask {
  input: string;
  output: string;
  languages: string;
  pages: string;
}

export const ocrPlaceholders = ['input', 'output', 'languages', 'pages'] as const satisfies (keyof OcrTask)[];

export interface OcrProgram {
  /** Whether the program accepts a range of pages. If not, it processes the whole file. */
  readonly takesPages: boolean;
  /**
   * @param directory its files together have a size limit
   * @returns `absent` if there is no such executable file; `failed` if the program failed or exceeded a limit
   * @throws the signal's reason
   */
  run(
    task: OcrTask,
    options: { directory: string; timeMs: number; signal: AbortSignal },
  ): Promise<'done' | 'failed' | 'absent'>;
  /**
   * Lets the program read a test page, unless this program file has already passed with these languages.
   * @param options.force never skips the test, for example after a failure
   * @returns the problem and the remedy; undefined if nothing is wrong
   */
  flawFor(languages: string, options?: { force: boolean }): Promise<string | undefined>;
}

/** Limits of each process. A scanned page needs 0.2 to 0.5 GB of memory. */
export const ocrBounds = {
  memoryMb: 1_536,
  fileBytes: 512 * 1_024 * 1_024,
  directoryBytes: 2 * 1_024 * 1_024 * 1_024,
  trialMs: 60_000,
} as const;

/**
 * @param command with placeholders
 * @param workDirectory for the test page
 */
export function ocrProgramAt(command: readonly string[], workDirectory: string): OcrProgram {
  const [executable = '', ...template] = command;
  /** The program file that has passed the test, for each set of languages. */
  const right = new Map<string, string>();

  const run: OcrProgram['run'] = (task, { directory, timeMs, signal }) => {
    const { memoryMb, fileBytes, directoryBytes } = ocrBounds;
    const size = { path: directory, bytes: directoryBytes };
    const bounds = { timeMs, memoryMb, fileBytes, cpuSeconds: timeMs / 1_000, directory: size };
    return runCommand(command, { ...task }, { directory, bounds, signal });
  };

  async function trialFlaw(languages: string): Promise<string | undefined> {
    const { signal } = new AbortController();
    return inWorkDirectory(workDirectory, async (directory) => {
      const [input, output] = [path.join(directory, 'trial.pdf'), path.join(directory, 'read.pdf')];
      await writeFile(input, trialPdf());
      const outcome = await run(
        { input, output, languages, pages: '1' },
        { directory, timeMs: ocrBounds.trialMs, signal },
      );
      if (outcome === 'done' && (await isPdf(output))) return undefined;
      const bounds = `${ocrBounds.memoryMb} MB of memory, ${ocrBounds.trialMs / 1_000} s`;
      return `reads no trial page in ${languages} within its bounds (${bounds}): is it complete, and are these languages installed?`;
    });
  }

  return {
    takesPages: template.some((word) => word.includes('{pages}')),
    run,
    async flawFor(languages, { force } = { force: false }) {
      const file = await findProgram(command);
      if (file === undefined) return `There is no program ${executable}: install it, or name another in OCR_COMMAND.`;
      const identity = await identityOf(file);
      if (!force && right.get(languages) === identity) return undefined;
      const flaw = await trialFlaw(languages);
      if (flaw === undefined) right.set(languages, identity);
      else right.delete(languages);
      return flaw && `${file} ${flaw}`;
    },
  };
}

/** @returns a text that changes when the file, or the target of the link, changes */
async function identityOf(file: string): Promise<string> {
  const found = await stat(file).catch(() => undefined);
  return [file, found?.dev, found?.ino, found?.size, found?.mtimeMs].join(' ');
}

async function isPdf(file: string): Promise<boolean> {
  const handle = await open(file).catch(() => undefined);
  if (!handle) return false;
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(5), 0, 5, 0);
    return buffer.toString('latin1', 0, bytesRead) === '%PDF-';
  } finally {
    await handle.close();
  }
}

/** The page has grey bars of 400 by 200 pixels, without letters. */
function trialPdf(): Buffer {
  const [width, height] = [400, 200];
  const dots = Buffer.alloc(width * height, 0xff);
  for (let y = 40; y < height - 40; y++) for (let x = 40; x < width - 40; x++) if (x % 40 < 12) dots[y * width + x] = 0;
  const content = 'q 192 0 0 96 0 0 cm /Im0 Do Q';
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 192 96] /Contents 4 0 R /Resources << /XObject << /Im0 5 0 R >> >> >>',
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    `<< /Type /XObject /Subtype /Image /Width ${width} /Height ${height} /ColorSpace /DeviceGray /BitsPerComponent 8 /Length ${dots.length} >>\nstream\n${dots.toString('latin1')}\nendstream`,
  ];
  let text = '%PDF-1.4\n';
  const places = objects.map((object, at) => {
    const place = text.length;
    text += `${at + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(place).padStart(10, '0')} 00000 n \n`;
  });
  const table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${places.join('')}`;
  const end = `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${text.length}\n%%EOF\n`;
  return Buffer.from(text + table + end, 'latin1');
}
