/** Reads, checks, stores and previews the texts that a club writes for its transactional mails. */
import type { RecordOf } from '../../../contract/contract.ts';
import { ClubMailText } from '../../../entities/mail/club-mail-text.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { findBranding } from '../../branding/branding.ts';
import type { AddressedDeps } from '../../deps.ts';
import { requireOffered } from '../../language/chosen.ts';
import { wordingIn } from '../../language/wording.ts';
import { clubMailTemplates, problemsOf, variablesOf, type ClubMailTemplate, type OwnText } from './own-text.ts';
import { renderMail, standardText, type MailContext } from './rendering.ts';

type OwnTextDeps = Pick<AddressedDeps, 'db' | 'publicUrl'>;

/** Identifies a text of a club. */
export interface MailTextName {
  clubId: Id;
  template: ClubMailTemplate;
  /** BCP 47 tag. */
  language: string;
}

/** @returns the club's own text for a mail; undefined if the club uses the catalogue's text */
export async function findOwnText(db: Queries, name: MailTextName): Promise<ClubMailText | undefined> {
  return (await db.manager.findOneBy(ClubMailText, name)) ?? undefined;
}

/** @returns every mail whose text a club may change, in the order of the templates */
export async function listMailTexts(db: Queries, clubId: Id): Promise<RecordOf<'MailTextSummary'>[]> {
  const rows = await db.manager.find(ClubMailText, { where: { clubId }, order: { language: 'ASC' } });
  return clubMailTemplates.map((template) => ({
    template,
    languages: rows.filter((row) => row.template === template).map(({ language }) => language),
  }));
}

/** @throws DomainError invalid_request (the language is not offered) */
export async function readMailText(
  { db, publicUrl }: { db: Queries; publicUrl: string },
  { clubId, template, language: requestedLanguage }: MailTextName,
): Promise<RecordOf<'MailText'>> {
  const language = requireOffered(requestedLanguage);
  const wording = wordingIn(language);
  const own = await findOwnText(db, { clubId, template, language });
  const [needed, ...others] = variablesOf(template);
  const club = await db.one<{ name: string; timeZone: string }>(
    sql`SELECT name, time_zone AS "timeZone" FROM clubs WHERE id = ${clubId}`,
  );
  const branding = await findBranding(db, publicUrl, clubId);
  return {
    template,
    language,
    is_own: own !== undefined,
    variables: [needed, ...others],
    needed_variable: needed,
    ...(own && { own: presentWords(own), updated_at: own.updatedAt.toISOString() }),
    standard: presentWords(standardText(template, wording)),
    preview: renderMail(template, exampleOf(club?.name ?? '', club?.timeZone ?? 'UTC'), wording, { branding, own }),
  };
}

/** @throws DomainError invalid_request (the language is not offered, or the text has a problem) */
export async function setMailText(
  deps: OwnTextDeps,
  name: MailTextName,
  input: RecordOf<'MailTextSettings'>,
  now: Date,
): Promise<RecordOf<'MailText'>> {
  const language = requireOffered(name.language);
  const own: OwnText = {
    subject: input.subject.trim(),
    text: input.text.replaceAll(/\r\n?/g, '\n').trim(),
    action: input.action?.trim() ?? null,
  };
  const problems = problemsOf(name.template, own);
  if (problems.length > 0) throw new DomainError('invalid_request', problems.join(' '));
  await deps.db.transaction((tx) =>
    tx.run(sql`
    INSERT INTO club_mail_texts (club_id, template, language, subject, text, action, updated_at)
    VALUES (${name.clubId}, ${name.template}, ${language}, ${own.subject}, ${own.text}, ${own.action}, ${now})
    ON CONFLICT (club_id, template, language) DO UPDATE SET subject = excluded.subject, text = excluded.text,
      action = excluded.action, updated_at = excluded.updated_at`),
  );
  return readMailText(deps, name);
}

/** Restores the catalogue's text. @throws DomainError invalid_request */
export async function resetMailText(deps: OwnTextDeps, name: MailTextName): Promise<RecordOf<'MailText'>> {
  const language = requireOffered(name.language);
  await deps.db.transaction((tx) =>
    tx.run(
      sql`DELETE FROM club_mail_texts WHERE club_id = ${name.clubId} AND template = ${name.template} AND language = ${language}`,
    ),
  );
  return readMailText(deps, name);
}

const presentWords = ({ subject, text, action }: OwnText): RecordOf<'MailTextWords'> => ({
  subject,
  text,
  ...(action !== null && { action }),
});

/** Example values for the variables in a preview, in any language. The addresses do not exist. */
const exampleOf = (clubName: string, timeZone: string): MailContext => ({
  name: 'Ana',
  clubName,
  link: 'https://classroom.example.com/',
  code: '012345',
  endpointUrl: 'https://crm.example.com/hooks',
  lessonTitle: 'A1',
  session: { title: 'B2', startsAt: new Date('2026-03-02T12:00:00Z'), timeZone, withWhom: 'Noa', reason: '' },
});
