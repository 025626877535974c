/** Tests the page of a certificate in right-to-left languages and with long words (CERT-6). */
import { expect } from 'chai';
import type { CertificateWords } from '../../../../../domain/learning/certificates/words.ts';
import { certificateWords } from '../../../../../domain/learning/certificates/words.ts';
import { readPdf } from '../../../../toolkit/assert/pdf.ts';
import { copiedText, taggedTexts } from '../../../../toolkit/assert/pdf-readers.ts';
import { printCertificate } from './printing.ts';

const arabic: CertificateWords = {
  language: 'ar',
  documentTitle: (code) => `شهادة ${code}`,
  heading: 'شهادة إتمام',
  certifies: 'تشهد هذه الوثيقة بأن',
  completed: 'أتمّ بنجاح دورة',
  extent: ({ lessons, hours }) => `${lessons} دروس · ${hours} ساعات · اكتملت في 2 مارس 2026`,
  day: () => '2 مارس 2026',
  dateOfIssue: (version) => `تاريخ الإصدار · النسخة ${version}`,
  qrCode: (url) => `رمز الاستجابة السريعة ${url}`,
};

const german: CertificateWords = {
  ...certificateWords('de'),
  heading: 'Teilnahmebescheinigung über den erfolgreichen Abschluss eines Weiterbildungslehrgangs',
  completed: 'hat den nachfolgend bezeichneten Weiterbildungslehrgang vollständig und mit Erfolg abgeschlossen',
  extent: () =>
    '128 Unterrichtseinheiten · 256 Unterrichtsstunden · erfolgreich abgeschlossen am Mittwoch, dem 23. September 2026',
  dateOfIssue: (version) => `Ausstellungsdatum der Bescheinigung · Ausfertigung ${version}`,
};

/** @returns the left edge of the QR code's background, in points */
function leftOfQrCode(bytes: Buffer): number {
  const ground = readPdf(bytes)
    .fills.flat()
    .find(([, , width, height]) => width === 96 && height === 96);
  if (!ground) throw new Error('The page has no QR code.');
  return ground[0];
}

describe('the page of a certificate (CERT-6)', function () {
  this.timeout(20_000);

  it('prints Arabic words, with a name in Latin letters', async () => {
    const bytes = await printCertificate({ language: 'ar', clubName: 'أكاديمية الميناء' }, arabic);
    const parts = await taggedTexts(bytes);
    expect(parts.filter(({ role }) => role !== 'Figure').map(({ text }) => text)).to.deep.equal([
      'أكاديمية الميناء',
      'شهادة إتمام',
      'تشهد هذه الوثيقة بأن',
      'Ada Example',
      'أتمّ بنجاح دورة',
      'Knots for Beginners',
      '4 دروس · 3 ساعات · اكتملت في 2 مارس 2026',
      '2 مارس 2026',
      'تاريخ الإصدار · النسخة 1',
      'K7QM-4XPA-9T2F',
      'api.example.com/certificates/K7QM4XPA9T2F',
    ]);
    expect(parts.map(({ language }) => language)).to.include('ar');
    expect(await copiedText(bytes))
      .to.include('شهادة إتمام')
      .and.to.include('تشهد هذه الوثيقة بأن');
  });

  it('puts the QR code on the left if the language is written from right to left', async () => {
    const [english, mirrored] = [await printCertificate({}), await printCertificate({ language: 'ar' }, arabic)];
    expect(leftOfQrCode(english)).to.be.closeTo(841.89 - leftOfQrCode(mirrored) - 96, 0.01);
    expect(leftOfQrCode(mirrored)).to.be.below(300);
    // A language without a catalogue gets English words, from left to right.
    const hebrew = await printCertificate({ language: 'he' });
    expect(leftOfQrCode(hebrew)).to.equal(leftOfQrCode(english));
  });

  it('contains all words of long German texts on one page', async () => {
    const bytes = await printCertificate({ language: 'de', lessonCount: 128 }, german);
    expect(readPdf(bytes).pages).to.have.length(1);
    const copied = (await copiedText(bytes)).replaceAll(' ', '');
    for (const text of [german.heading, german.completed, german.dateOfIssue(1)])
      expect(copied).to.include(text.replaceAll(' ', ''));
  });

  it('states its language and title for screen readers and archives', async () => {
    const source = (await printCertificate({ language: 'pt-BR' })).toString('latin1');
    expect(source).to.include('/Lang (pt-BR)').and.to.include('/Marked true').and.to.include('/DisplayDocTitle true');
    expect(source).to.include('/OutputIntents');
  });
});
