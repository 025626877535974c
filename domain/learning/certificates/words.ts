/** The words that a certificate prints, in its language. */
import { languageOf } from '../../language/languages.ts';
import { wordingIn } from '../../language/wording.ts';

/** All printed words except the names of people, courses and clubs. */
export interface CertificateWords {
  /** The BCP 47 tag of the language of these words. */
  language: string;
  /** The title in the properties of the document. @param code the code of the certificate, in groups of four characters */
  documentTitle(code: string): string;
  heading: string;
  /** The words above the student's name. */
  certifies: string;
  /** The words below the student's name and above the course's title. */
  completed: string;
  /** The words below the title: lessons, hours, and the day of completion if it is known. */
  extent(extent: { lessons: number; hours?: number; completedAt?: Date; timeZone: string }): string;
  /** @param timeZone the IANA name of the club's time zone */
  day(at: Date, timeZone: string): string;
  /** The words below the day of issue. */
  dateOfIssue(version: number): string;
  /** The description of the QR code for screen readers. @param url the address of the certificate's verification page */
  qrCode(url: string): string;
}

/** @param language the BCP 47 tag of the certificate's language @returns the words, in the nearest offered language */
export function certificateWords(language: string): CertificateWords {
  const wording = wordingIn(languageOf(language));
  const { say, day } = wording;
  return {
    language: wording.language,
    documentTitle: (code) => say('certificate.page_title', { code }),
    heading: say('certificate.title'),
    certifies: say('certificate.certifies'),
    completed: say('certificate.has_completed'),
    extent: ({ lessons, hours, completedAt, timeZone }) =>
      [
        say('certificate.lessons', { count: lessons }),
        ...(hours === undefined ? [] : [say('certificate.hours', { count: hours })]),
        ...(completedAt === undefined ? [] : [say('certificate.completed_on', { day: day(completedAt, timeZone) })]),
      ].join(' · '),
    day,
    dateOfIssue: (version) => say('certificate.date_of_issue', { version: String(version) }),
    qrCode: (url) => say('certificate.qr_code', { url }),
  };
}
