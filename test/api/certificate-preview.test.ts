/** Tests the sample certificate that administrators see before they issue certificates (DEC-187). */
import { expect } from 'chai';
import { offeredLanguages } from '../../domain/language/languages.ts';
import { wordingIn } from '../../domain/language/wording.ts';
import { coloredPage, taggedTexts } from '../toolkit/assert/pdf-readers.ts';
import { buildClub, buildMember, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildLogo, chooseLook, logoPixels } from '../toolkit/builders/logos.ts';
import { call, expectError } from '../toolkit/drive/api.ts';
import { rowCounts } from '../toolkit/stack/database.ts';
import { testBucket } from '../toolkit/stack/storage.ts';

const preview = (club: TestClub, language: string, token = club.owner.token) =>
  call('GET', `/v1/clubs/${club.id}/branding/certificate/${language}`, { token });

/** @returns Returns the text of the page in the order in which screen readers read it. */
const textsOf = async (pdf: Buffer) => (await taggedTexts(pdf)).map(({ text }) => text);

describe('GET /v1/clubs/{clubId}/branding/certificate/{language}', function () {
  this.timeout(20_000);

  describe('200', () => {
    for (const language of offeredLanguages)
      it(`shows an invented student and course in ${language}`, async () => {
        const club = await buildClub({ language: 'pt-BR' });
        const answer = await preview(club, language);
        const { say } = wordingIn(language);
        expect(answer.status).to.equal(200);
        expect(answer.headers.get('content-type')).to.equal('application/pdf');
        expect(answer.headers.get('content-disposition')).to.equal(
          `inline; filename="certificate-preview-${language}.pdf"`,
        );
        expect(await textsOf(answer.bytes)).to.include.members([
          say('certificate.title'),
          say('certificate.sample.student'),
          say('certificate.sample.course'),
          '0000-0000-0000',
        ]);
      });

    it('shows the club’s name, colour and logo', async () => {
      const club = await buildClub();
      const logo = await buildLogo(club, await logoPixels(400, 400).png().toBuffer());
      await chooseLook(club, { logo_media_id: logo, accent_color: '#7a1f5c' });
      const { bytes } = await preview(club, 'ar');
      const name = `Club ${club.owner.id}`;
      expect((await textsOf(bytes)).filter((text) => text === name)).to.have.length(2);
      const { colorAt } = await coloredPage(bytes, 4);
      expect(colorAt(30 * 4, 1_200)).to.deep.equal([0x7a, 0x1f, 0x5c]);
    });

    it('is available to every member, and stores nothing', async () => {
      const club = await buildClub();
      const { token } = await buildMember(club.id, 'support');
      const before = await rowCounts();
      expect((await preview(club, 'de', token)).status).to.equal(200);
      expect(await rowCounts()).to.deep.equal(before);
      expect(await (await testBucket()).objects(`certificates/${club.id}/`)).to.deep.equal([]);
    });

    it('shows a code that no real certificate has', async () => {
      expectError(await call('GET', '/certificates/000000000000'), 'not_found');
    });
  });

  it('returns 403 to a student', async () => {
    const club = await buildClub();
    const { token } = await buildStudent(club.id);
    expect((await preview(club, 'de', token)).status).to.be.oneOf([401, 403]);
  });

  it('returns 422 with a list of the offered languages if the language is not offered', async () => {
    const club = await buildClub();
    const answer = await preview(club, 'fr');
    expectError(answer, 'invalid_request');
    expect(answer.body.error.message).to.contain('"fr"').and.to.contain(offeredLanguages.join(', '));
  });

  it('returns 503 busy if many previews are requested simultaneously, but two may wait and succeed', async () => {
    const club = await buildClub();
    const answers = await Promise.all(Array.from({ length: 30 }, () => preview(club, 'en')));
    const counts = Object.groupBy(answers, ({ status }) => String(status));
    expect(Object.keys(counts)).to.have.members(['200', '503']);
    expect(counts['200']?.length, 'two previews wait, and are printed later').to.be.at.least(2);
  });
});
