/** Clubs whose material is a corpus: indexed by the product, or copied from another club. */
import type { DataSource } from 'typeorm';
import { readFile } from '../../domain/knowledge/extraction/read-out.ts';
import { withWords } from '../../domain/knowledge/indexing/passage-words.policy.ts';
import { cutPassages, type Passage } from '../../domain/knowledge/indexing/passages.policy.ts';
import { insertPassages } from '../../domain/knowledge/indexing/record.ts';
import type { Language } from '../../entities/clubs/values.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { Database } from '../../platform/infra/postgres/database.ts';
import { pdfOf, type CorpusDocument, type CorpusLanguage } from './corpus.ts';

export interface BenchClub {
  clubId: Id;
  agentId: Id;
  passages: number;
}

/** @returns a club with an agent that answers from these documents; each is a PDF of the library */
export async function indexClub(
  source: DataSource,
  language: CorpusLanguage,
  documents: readonly CorpusDocument[],
): Promise<BenchClub> {
  const club = await emptyClub(source, language);
  for (const document of documents) {
    const bytes = new Uint8Array(await pdfOf(document));
    const { sections } = await readFile(bytes, 'application/pdf', { onPage: () => undefined });
    const passages = [...cutPassages(sections, language)];
    const sourceId = await addFile(source, club, document.title, passages.length);
    await addPassages(source, club, { sourceId, title: document.title, language, passages });
    club.passages += passages.length;
  }
  return club;
}

/** Adds a club with a published agent without material. */
export async function emptyClub(source: DataSource, language: Language): Promise<BenchClub> {
  const club = { clubId: newId(), agentId: newId(), passages: 0 };
  await source.query(`INSERT INTO clubs (id, name, slug, language, created_at) VALUES ($1, 'Club', $2, $3, now())`, [
    club.clubId,
    club.clubId,
    language,
  ]);
  await source.query(
    `INSERT INTO agents (id, club_id, public_id, name, status, daily_limit, answer_max_tokens, created_at, updated_at)
     VALUES ($1, $2, 'agent', 'Agent', 'published', 20, 1000, now(), now())`,
    [club.agentId, club.clubId],
  );
  return club;
}

/** Adds a file to the material of the club's agent. @returns the id of the file's source */
export async function addFile(
  source: DataSource,
  { clubId, agentId }: BenchClub,
  title: string,
  passages: number,
): Promise<Id> {
  const [mediaId, sourceId] = [newId(), newId()];
  await source.query(
    `INSERT INTO media (id, club_id, purpose, kind, title, provider, status, created_at, updated_at)
     VALUES ($1, $2, 'library', 'document', $3, 'objstore', 'ready', now(), now())`,
    [mediaId, clubId, title],
  );
  await source.query(
    `INSERT INTO agent_sources (id, club_id, kind, media_id, title, status, passage_count, created_at, updated_at)
     VALUES ($1, $2, 'media', $3, $4, 'ready', $5, now(), now())`,
    [sourceId, clubId, mediaId, title, passages],
  );
  await source.query(`INSERT INTO agent_materials (id, agent_id, media_id) VALUES ($1, $2, $3)`, [
    newId(),
    agentId,
    mediaId,
  ]);
  return sourceId;
}

/** Like indexing. */
export async function addPassages(
  source: DataSource,
  { clubId }: BenchClub,
  { sourceId, passages, ...indexed }: { sourceId: Id; title: string; language: Language; passages: readonly Passage[] },
): Promise<void> {
  const db = new Database(source, { notify() {} });
  await db.transaction((tx) =>
    insertPassages(tx, { sourceId, clubId }, { ...indexed, passages: passages.map(withWords) }),
  );
}

/** The number of passages of a copied file. */
const usualFileLength = 100;

/**
 * Copies another club's passages, by default into files of a hundred passages. The index of words is complete, as after the upkeep of the
 * worker. Triggers are off, because each copied row already has its words.
 */
export async function copyClub(
  source: DataSource,
  language: CorpusLanguage,
  original: BenchClub,
  passages: number,
  fileLength = usualFileLength,
): Promise<BenchClub> {
  const club = await emptyClub(source, language);
  await source.transaction(async (tx) => {
    await tx.query(`SET LOCAL session_replication_role = replica`);
    await tx.query(
      `WITH file AS MATERIALIZED (SELECT n, gen_random_uuid() AS id, gen_random_uuid() AS media_id FROM generate_series(0, ($2::int - 1) / ${fileLength}) AS n),
       media AS (
         INSERT INTO media (id, club_id, purpose, kind, title, provider, status, created_at, updated_at)
         SELECT media_id, $1, 'library', 'document', 'File ' || n, 'objstore', 'ready', now(), now() FROM file),
       source AS (
         INSERT INTO agent_sources (id, club_id, kind, media_id, title, status, passage_count, created_at, updated_at)
         SELECT id, $1, 'media', media_id, 'File ' || n, 'ready', ${fileLength}, now(), now() FROM file),
       material AS (
         INSERT INTO agent_materials (id, agent_id, media_id) SELECT gen_random_uuid(), $4, media_id FROM file),
       copied AS MATERIALIZED (
         SELECT *, row_number() OVER () - 1 AS n
           FROM (SELECT passage.* FROM generate_series(1, $2::int / $5::int + 1) CROSS JOIN agent_passages passage
                  WHERE passage.club_id = $3 LIMIT $2) AS passage)
       INSERT INTO agent_passages (id, source_id, club_id, position, page, title, headings, blocks, text, language, search, words)
       SELECT gen_random_uuid(), file.id, $1, copied.n % ${fileLength}, page, title, headings, blocks, text, language, search, words
         FROM copied JOIN file ON file.n = copied.n / ${fileLength}`,
      [club.clubId, passages, original.clubId, club.agentId, original.passages],
    );
    await tx.query(
      `INSERT INTO agent_words (club_id, word, initial, size, lexeme, stem, passages, folded)
       SELECT $1, word, initial, size, lexeme, stem, greatest(1, sum(passages) * $2::float8 / $4)::int, true FROM agent_words
        WHERE club_id = $3 GROUP BY word, initial, size, lexeme, stem HAVING sum(passages) > 0`,
      [club.clubId, passages, original.clubId, original.passages],
    );
  });
  return { ...club, passages };
}
