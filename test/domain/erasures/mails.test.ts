/** Tests the mails about the erasure of a club: their words in each language, and when they are sent (ERS-3). */
import { expect } from 'chai';
import { erasureMails, remindOfErasure } from '../../../domain/erasures/mails.ts';
import { offeredLanguages } from '../../../domain/language/languages.ts';
import { wordingIn } from '../../../domain/language/wording.ts';
import { renderMail, type MailContext } from '../../../domain/mail/texts/rendering.ts';
import type { MailRow } from '../../../domain/mail/kinds.ts';
import { newId } from '../../../platform/core/ids.ts';
import { eachCase } from '../../toolkit/assert/each-case.ts';
import { buildClub, buildMember, type TestClub } from '../../toolkit/builders/clubs.ts';
import { testDatabase, testDeps } from '../../toolkit/stack/database.ts';

const erasesAt = new Date('2026-03-29T01:30:00Z'); // the hour in which Lisbon changes to summer time
const context: MailContext = {
  name: 'Ada',
  clubName: 'نادي 帆船 Café',
  link: 'https://dashboard.example.com/settings/erasure',
  code: '',
  endpointUrl: '',
  lessonTitle: '',
  erasure: { at: erasesAt, timeZone: 'Europe/Lisbon' },
};
const withoutIsolates = (text: string) => text.replaceAll(/[\u2068\u2069]/g, '');

/** The time of the erasure by the club's clock, as a reader of each language expects it. */
const times = {
  en: /29 March 2026.*2:30/,
  'pt-BR': /29 de março de 2026.*2:30/,
  es: /29 de marzo de 2026.*2:30/,
  de: /29\. März 2026.*2:30/,
  ar: /29 مارس 2026.*2:30/,
} as const;

describe('mails about the erasure of a club', () => {
  it('name the club, and its local time of the erasure, in every language', () =>
    eachCase(offeredLanguages, async (language) => {
      for (const template of ['club_erasure_requested', 'club_erasure_reminder'] as const) {
        const { text, subject } = renderMail(template, context, wordingIn(language));
        expect(withoutIsolates(text)).to.match(times[language]);
        expect(withoutIsolates(text)).to.contain(context.clubName).and.to.contain(context.link);
        expect(withoutIsolates(subject)).to.contain(context.clubName);
      }
    }));

  it('say in every language that the erasure was canceled, without a time', () =>
    eachCase(offeredLanguages, async (language) => {
      const { text } = renderMail('club_erasure_canceled', context, wordingIn(language));
      expect(withoutIsolates(text)).to.contain(context.clubName);
      expect(text).not.to.contain('2026');
    }));

  describe('for a club', () => {
    let club: TestClub;
    beforeEach(async () => {
      club = await buildClub();
    });
    const query = async (text: string, ...values: unknown[]) => (await testDatabase()).query(text, values);
    const plan = async (status = 'planned') =>
      query(
        `INSERT INTO erasures (id, kind, subject_id, club_id, requested_at, erases_at, status, looks_at) VALUES ($1, 'club', $2, $2, now(), $3, $4, $3)`,
        newId(),
        club.id,
        erasesAt,
        status,
      );
    const subjectOf = async (template: keyof typeof erasureMails) => {
      const { db } = await testDeps();
      return erasureMails[template](db, { clubId: club.id } as MailRow, new Date());
    };

    it('are sent only while the erasure is planned', async () => {
      await query(`UPDATE clubs SET time_zone = 'Asia/Kathmandu' WHERE id = $1`, club.id);
      expect(await subjectOf('club_erasure_reminder')).to.equal(undefined);
      await plan();
      const erasure = { at: erasesAt, timeZone: 'Asia/Kathmandu' };
      expect(await subjectOf('club_erasure_requested')).to.deep.equal({ erasure });
      expect(await subjectOf('club_erasure_reminder')).to.deep.equal({ erasure });
      await query(`UPDATE erasures SET status = 'closing' WHERE subject_id = $1`, club.id);
      expect(await subjectOf('club_erasure_requested')).to.equal(undefined);
      expect(await subjectOf('club_erasure_canceled')).to.deep.equal({});
    });

    it('remind each owner and admin once for each call', async () => {
      const admin = await buildMember(club.id, 'admin');
      await buildMember(club.id, 'editor');
      await plan();
      const { db, vault } = await testDeps();
      await db.transaction((tx) => remindOfErasure(tx, vault, club.id, new Date()));
      const rows = await query(
        `SELECT template, administrator_id FROM transactional_mails WHERE club_id = $1 ORDER BY administrator_id`,
        club.id,
      );
      expect(rows).to.have.deep.members(
        [club.owner.id, admin.id].map((id) => ({ template: 'club_erasure_reminder', administrator_id: id })),
      );
    });
  });
});
