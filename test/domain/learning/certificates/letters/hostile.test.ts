/** Tests the worst possible names. */
import { expect } from 'chai';
import { drawCertificate } from '../../../../../domain/learning/certificates/pdf-work.ts';
import { newId } from '../../../../../platform/core/ids.ts';
import { printedPicture } from '../../../../toolkit/assert/pdf-readers.ts';
import { printCertificate, usualCertificate } from './printing.ts';

/** From `contract/schemas`, in characters. */
const longest = { studentName: 120, courseTitle: 200, clubName: 120 } as const;
const repeated = (part: string, length: number) => Array.from(part.repeat(length)).slice(0, length).join('');
const hanFrom = (first: number, length: number) =>
  Array.from({ length }, (_, index) => String.fromCodePoint(0x4e00 + ((first + index * 37) % 20_000))).join('');

const names: Record<string, (length: number) => string> = {
  'combining marks': (length) => repeated('a\u0301\u0316\u0308\u0323\u030a', length),
  'marks without a letter': (length) => repeated('\u0e48', length),
  'viramas and joiners': (length) => repeated('क्\u200d', length),
  'vowels of Arabic': (length) => repeated('ل\u064b\u0651', length),
  'the widest ligature': (length) => repeated('ﷺ', length),
  'alternating directions': (length) => repeated('אa1(', length),
  'people who are joined into one picture': (length) => repeated('👨\u200d', length),
  'letters without a font': (length) => repeated('\u{13000}', length),
  'Thai without spaces': (length) => repeated('กำ', length),
  spaces: (length) => repeated('a ', length),
};
const textsOf = (name: (length: number) => string) => ({
  studentName: name(longest.studentName),
  courseTitle: name(longest.courseTitle),
  clubName: name(longest.clubName),
});

describe('the longest and worst names (CERT-4)', function () {
  this.timeout(60_000);

  for (const [kind, name] of Object.entries(names))
    it(`need less than two seconds of CPU and 300 KB: ${kind}`, async () => {
      const before = process.cpuUsage();
      const bytes = await printCertificate(textsOf(name));
      const { user, system } = process.cpuUsage(before);
      expect((user + system) / 1_000).to.be.below(2_000);
      expect(bytes.length).to.be.below(300_000);
    });

  it('stay within the limits of a thread', async () => {
    for (let first = 0; first < 6; first++) {
      const texts = textsOf((length) => hanFrom(first * 1_000 + length, length));
      const bytes = await drawCertificate({ clubId: newId() }, { ...usualCertificate, ...texts });
      expect(bytes.length).to.be.below(600_000);
    }
  });

  it('cover nothing outside the box of the name', async () => {
    const tower = `A${'\u0301'.repeat(119)}`;
    const scale = 1;
    const [plain, hostile] = [await printCertificate({}), await printCertificate({ studentName: tower })];
    const [one, other] = [await printedPicture(plain, scale), await printedPicture(hostile, scale)];
    const changed = new Set<number>();
    one.data.forEach((shade, at) => {
      if (Math.abs(shade - (other.data[at] ?? 0)) > 8) changed.add(Math.floor(at / one.width));
    });
    expect(Math.min(...changed)).to.be.at.least(187);
    expect(Math.max(...changed)).to.be.at.most(263);
  });
});
