/** The words that a certificate prints, by its language. They are English in every language as yet. */
import { printedDay, printedExtent } from './days.policy.ts';

/** All that is printed beside the names of people, courses and clubs. */
export interface CertificateWords {
  /** Of the document, in its properties. @param code in groups of four */
  documentTitle(code: string): string;
  heading: string;
  /** Above the student's name. */
  certifies: string;
  /** Below the student's name, above the course's title. */
  completed: string;
  /** Below the title: lessons, hours, and the day of completion if it is known. */
  extent(extent: { lessons: number; hours?: number; completedAt?: Date; timeZone: string }): string;
  /** @param timeZone IANA name of the club's */
  day(at: Date, timeZone: string): string;
  /** Below the day of issue. */
  dateOfIssue(version: number): string;
  /** What a screen reader says of the QR code. @param url where the certificate is verified */
  qrCode(url: string): string;
}

const english: CertificateWords = {
  documentTitle: (code) => `Certificate ${code}`,
  heading: 'Certificate of Completion',
  certifies: 'This certifies that',
  completed: 'has completed the course',
  extent({ lessons, hours, completedAt, timeZone }) {
    const completed = completedAt === undefined ? '' : ` · completed on ${printedDay(completedAt, timeZone)}`;
    return printedExtent({ lessons, hours }) + completed;
  },
  day: printedDay,
  dateOfIssue: (version) => `Date of issue · version ${version}`,
  qrCode: (url) => `QR code of ${url}`,
};

/** @param _language BCP 47, of the certificate */
export function certificateWords(_language: string): CertificateWords {
  return english;
}
