/** Word files, read out: by mammoth as HTML, once it is known how large they are unpacked. */
import mammoth from 'mammoth';
import type { Archive } from './archive.ts';
import { readHtml } from './html-text.ts';
import type { SectionBuilder } from './sections.ts';
import { readingTheFile } from './unreadable.ts';

/** @param archive the same file, opened @throws Unreadable too_large, file_corrupt */
export async function readDocx(bytes: Uint8Array, archive: Archive, into: SectionBuilder): Promise<void> {
  // Mammoth unpacks without bounds whatever it reads: each part is unpacked here first, and must end within them.
  for (const name of archive.names()) if (/\.(?:xml|rels)$/.test(name)) await archive.text(name);
  const { value } = await readingTheFile(() =>
    mammoth.convertToHtml(
      { buffer: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) },
      // Pictures stay where they are: none is read.
      {
        convertImage: mammoth.images.imgElement(async () => ({ src: '' })),
        styleMap: ["p[style-name='Title'] => h1:fresh"],
        externalFileAccess: false,
      },
    ),
  );
  readHtml(value, into);
}
