/** Finds the passages of an agent's material that match a question (docs/adr/0014-retrieval.md). */
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { columns, sql, type Sql } from '../../platform/infra/postgres/sql.ts';
import type { Id } from '../../platform/core/ids.ts';
import { AgentPassage } from '../../entities/knowledge/agent-passage.ts';
import { AgentSource } from '../../entities/knowledge/agent-source.ts';
import type { SourceKind } from '../../entities/knowledge/values.ts';
import { termsOf } from './question-terms.ts';
import { rankingRules, weigh, type WeighedTerm } from './retrieval.policy.ts';

export interface Retrieved {
  passageId: Id;
  sourceId: Id;
  sourceKind: SourceKind;
  sourceTitle: string;
  /** The position of the passage in the source, from 0. */
  position: number;
  /** The number of the page, from 1. Null if the source has no pages. */
  page: number | null;
  headings: string[];
  /** The blocks of the passage. Together they contain the whole text of the passage. */
  blocks: string[];
  /** The times of each block, in whole seconds of a video or sound. Null for other sources. */
  fromSeconds: number[] | null;
  toSeconds: number[] | null;
  /**
   * The score of the passage. Scores can only be compared within one result of `retrieve`. The third passage of a page stands lower in the
   * result than its score suggests.
   */
  score: number;
}

export interface RetrievalRequest {
  clubId: Id;
  agentId: Id;
  /** Any text of any length. */
  question: string;
  /** The most passages. */
  limit: number;
}

/**
 * Finds passages that contain at least one word of the question. If the agent belongs to a different club, the result is empty.
 * @returns the passages, the best first; an empty list if the material has no word of the question
 */
export async function retrieve(db: Queries, request: RetrievalRequest): Promise<Retrieved[]> {
  const { clubId, agentId, question, limit } = request;
  const terms = weigh(await termsOf(db, clubId, question), await passagesOf(db, clubId));
  if (terms.length === 0) return [];
  const inIndex = (lexemes: readonly string[]) => lexemes.map((lexeme) => `${clubId}${lexeme}`);
  const lexemes = terms.map(({ lexeme }) => lexeme);
  const [first, ...others] = terms;
  const next = others.find(({ word }) => word !== first?.word);
  const search = (choosing: readonly string[]) =>
    db.rows<Retrieved>(
      ranking({
        clubId,
        agentId,
        choosing: inIndex(choosing),
        // If even the rarest word is common, passages with the two rarest words come first.
        rarest: first && next && first.passages > rankingRules.candidates ? inIndex([first.lexeme, next.lexeme]) : null,
        terms,
        limit,
      }),
    );
  const choosing = lexemes.filter((_, place) => terms[place]?.chooses);
  const matches = await search(choosing);
  // First, only the rarest words of the question select passages. But the agent's material may have only the other words, so a second
  // search uses all words if the first finds too few.
  return matches.length < limit && choosing.length < lexemes.length ? search(lexemes) : matches;
}

async function passagesOf(db: Queries, clubId: Id): Promise<number> {
  const row = await db.one<{ total: number }>(
    sql`SELECT coalesce(sum(passage_count), 0)::int AS total FROM agent_sources
         WHERE club_id = ${clubId} AND removed_at IS NULL`,
  );
  return row?.total ?? 0;
}

const { fields, fusion, candidates, neighbours, ofOnePage, withoutPages } = rankingRules;
/** The weights of the labels D to A of a text vector, in the order that ts_rank expects. */
const weights = [fields.text, 0, fields.headings, fields.title];

const passageColumns = columns(
  AgentPassage,
  {
    passageId: 'id',
    position: 'position',
    page: 'page',
    headings: 'headings',
    blocks: 'blocks',
    fromSeconds: 'fromSeconds',
    toSeconds: 'toSeconds',
  },
  'passage',
);

/** The columns of `material` in the SQL statement. */
const sourceColumns = columns(AgentSource, { sourceId: 'id', sourceKind: 'kind', sourceTitle: 'title' }, 'material');

/**
 * The passages of the agent's material by the index of the club's passages. `&&` finds passages with any of the lexemes, `@>` with all.
 * OFFSET 0 prevents a slow plan that reads the index once for each source.
 */
const chosenBy = (condition: Sql) => sql`
    SELECT * FROM (
      SELECT id, source_id, position, page, search FROM agent_passages WHERE agent_lexemes(club_id, search) ${condition} OFFSET 0) AS indexed
     WHERE source_id IN (SELECT id FROM material) LIMIT ${candidates}`;

interface Ranking {
  clubId: Id;
  agentId: Id;
  /** Passages with any of these lexemes are ranked. */
  choosing: readonly string[];
  /** Passages with all these lexemes come first. */
  rarest: readonly string[] | null;
  terms: readonly WeighedTerm[];
  limit: number;
}

const ranking = ({ clubId, agentId, choosing, rarest, terms, limit }: Ranking) => sql`
  WITH material AS MATERIALIZED (
    SELECT source.id, source.kind, source.title FROM agent_sources source
      LEFT JOIN lessons lesson ON lesson.id = source.lesson_id
     WHERE source.club_id = ${clubId} AND EXISTS (
       SELECT FROM agent_materials material
        WHERE material.agent_id = ${agentId} AND (material.media_id = source.media_id OR material.lesson_id = source.lesson_id OR material.course_id = lesson.course_id))),
  term AS MATERIALIZED (
    SELECT quote_literal(lexeme)::tsquery AS query, word, weight
      FROM unnest(${terms.map(({ lexeme }) => lexeme)}::text[], ${terms.map(({ word }) => word)}::int[], ${terms.map(({ weight }) => weight)}::float8[]) AS term (lexeme, word, weight)),
  chosen AS (
    SELECT DISTINCT ON (id) * FROM ((${chosenBy(sql`@> ${rarest}::text[]`)}) UNION ALL (${chosenBy(sql`&& ${choosing}::text[]`)})) AS either),
  scored AS MATERIALIZED (
    SELECT id, source_id, position, page, word.weight AS score
      FROM chosen CROSS JOIN LATERAL (
        SELECT sum(weight) AS weight FROM (
          SELECT max(weight * ts_rank(${weights}::real[], search, query)) AS weight
            FROM term WHERE search @@ query GROUP BY word) AS best) AS word),
  near AS (
    SELECT *, score + ${neighbours} * (sum(score) OVER beside - score) AS with_neighbours
      FROM scored WINDOW beside AS (PARTITION BY source_id ORDER BY position RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING)),
  fused AS (
    SELECT *, 1.0 / (${fusion} + rank() OVER (ORDER BY score DESC))
            + 1.0 / (${fusion} + rank() OVER (ORDER BY with_neighbours DESC)) AS value FROM near),
  placed AS (
    SELECT *, row_number() OVER (
             PARTITION BY source_id, coalesce(page, - 1 - position / ${withoutPages}) ORDER BY value DESC, score DESC, id) > ${ofOnePage} AS waits
      FROM fused),
  best AS (
    SELECT * FROM placed ORDER BY waits, value DESC, score DESC, id LIMIT ${limit})
  SELECT ${passageColumns}, ${sourceColumns},
         best.value::float8 AS score
    FROM best JOIN agent_passages passage ON passage.id = best.id JOIN material ON material.id = best.source_id
   ORDER BY best.waits, best.value DESC, best.score DESC, best.id`;
