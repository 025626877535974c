/** Word files, read out: by mammoth as HTML, from an archive that bounds what is unpacked of it. */
import mammoth from 'mammoth';
import type { Archive } from './archive.ts';
import { readHtml } from './html-text.ts';
import type { SectionBuilder } from './sections.ts';
import { readingTheFile } from './unreadable.ts';

/** @throws Unreadable too_large, file_corrupt */
export async function readDocx(archive: Archive, into: SectionBuilder): Promise<void> {
  const { value } = await readingTheFile(() =>
    mammoth.convertToHtml(inputOf(archive), {
      // Pictures stay where they are: none is read.
      convertImage: mammoth.images.imgElement(async () => ({ src: '' })),
      styleMap: ["p[style-name='Title'] => h1:fresh"],
      externalFileAccess: false,
    }),
  );
  readHtml(value, into);
}

/**
 * Mammoth's own archives are unpacked without bounds, and which parts are read the file itself says, by any name. So each is read
 * here. Mammoth takes an opened archive as `file`, which its types leave out; files.test.ts holds it to that.
 */
function inputOf(archive: Archive): { buffer: Buffer } {
  const file = {
    exists: (name: string) => archive.has(name),
    read: async (name: string) => (await archive.text(name)) ?? '',
  };
  return { file } as unknown as { buffer: Buffer };
}
