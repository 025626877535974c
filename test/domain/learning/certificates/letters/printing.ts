/** Prints names for tests of letters. */
import { buffer } from 'node:stream/consumers';
import PDFDocument from 'pdfkit';
import type { Style } from '../../../../../domain/learning/certificates/letters/font-files.ts';
import { certificatePdf, type Printed } from '../../../../../domain/learning/certificates/pdf.ts';
import { createTypesetter } from '../../../../../domain/learning/certificates/typesetting.ts';
import type { CertificateWords } from '../../../../../domain/learning/certificates/words.ts';

/** In points. */
export const strip = { width: 700, height: 60, size: 26 } as const;

/** The page has the size of {@link strip}. */
export async function printText(text: string, style: Style = 'bold', language = 'en'): Promise<Buffer> {
  const pdf = new PDFDocument({ size: [strip.width, strip.height], margin: 0, tagged: true });
  const bytes = buffer(pdf);
  const type = createTypesetter(pdf, language);
  const { width, height, size } = strip;
  await type.draw(text, { x: 0, y: 0, width, height, style, largest: size, color: '#000000' });
  type.finish();
  pdf.end();
  return bytes;
}

const at = new Date('2026-03-02T03:15:00Z');

export const usualCertificate: Printed = {
  code: 'K7QM4XPA9T2F',
  studentName: 'Ada Example',
  courseTitle: 'Knots for Beginners',
  clubName: 'Harbour Academy',
  language: 'en',
  timeZone: 'UTC',
  lessonCount: 4,
  hours: 3,
  version: 1,
  issuedAt: at,
  completedAt: at,
  verifyUrl: 'https://api.example.com/certificates/K7QM4XPA9T2F',
  accentColor: null,
  logo: null,
};

/** Uses sample texts for all values that `texts` omits. */
export function printCertificate(texts: Partial<Printed>, words?: CertificateWords): Promise<Buffer> {
  return certificatePdf({ ...usualCertificate, ...texts }, words);
}
