/** Walks through the records of a club, page by page. A walk can stop after any page, and continue in another process. */
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import type { ListPosition } from '../../../platform/infra/postgres/lists/cursor.ts';
import { nameOf } from '../../../platform/infra/postgres/lists/order.ts';
import type { Page, PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import type { MailDomainSettings } from '../../mail/domains/domains.ts';
import type { AllMediaUseRules } from '../../media/use-rules.ts';
import { clubExportRules } from './exports.policy.ts';

/** The club whose records are read, and what the functions of its lists need. */
export interface ExportSource {
  db: Queries;
  vault: Vault;
  /** Signs no addresses: see `withoutAddresses`. */
  storage: ObjectStore;
  publicUrl: string;
  classroomUrl: string;
  mailDomains: MailDomainSettings;
  mediaUses: AllMediaUseRules;
  clubId: Id;
  /** The administrator who asked for the export. Posts are read in this person's name. */
  administratorId: Id;
  now: Date;
}

/** A line of a file in the archive. */
export interface ExportLine {
  /** The records to which the record belongs, if it does not name them: names and ids as in the path of its list. */
  of?: Readonly<Record<string, string>>;
  /** The record by its schema in the contract, without signed addresses. */
  record: Readonly<Record<string, unknown>>;
}

/** Some lines, and the place where the walk continues. It is absent at the end. */
export interface Lines {
  lines: ExportLine[];
  next?: string;
}

/** @param place `next` of the lines before; undefined at the beginning */
export type Walk = (source: ExportSource, place: string | undefined) => Promise<Lines>;

/** The place in a list: the printed keys of the last row, or for a list without cursors the number of the page. */
type ListPlace = { order: string; keys: string[] } | { page: number };

/** Reads a list as the API does, in its order. */
export const listed =
  <Row extends object>(read: (source: ExportSource, page: PageRequest) => Promise<Page<Row>>): Walk =>
  async (source, text) => {
    const place = text === undefined ? undefined : (JSON.parse(text) as ListPlace);
    const { pageRows } = clubExportRules;
    const number = place && 'page' in place ? place.page : 1;
    const { rows, total, next } = await read(source, {
      page: number,
      page_size: pageRows,
      cursor: positionAfter(place && 'keys' in place ? place : undefined),
    });
    const isLast = place !== undefined && 'keys' in place;
    const following = next ?? (!isLast && number * pageRows < total && rows.length > 0 ? pageAfter(number) : undefined);
    return {
      lines: rows.map((row) => ({ record: row as Readonly<Record<string, unknown>> })),
      ...(following !== undefined && { next: following }),
    };
  };

const pageAfter = (number: number) => JSON.stringify({ page: number + 1 } satisfies ListPlace);

/** The place is stored in a table that only the service writes, so it needs no proof as the cursors of callers do. */
function positionAfter(place: { order: string; keys: string[] } | undefined): ListPosition {
  return {
    isAfter: place !== undefined,
    changedSince: undefined,
    after: (keys) => (place?.order === nameOf(keys) ? place.keys : undefined),
    following: (keys, printed) => JSON.stringify({ order: nameOf(keys), keys: [...printed] } satisfies ListPlace),
  };
}

/** One record, or none if the club has no such record. */
export const single =
  (read: (source: ExportSource) => Promise<object>): Walk =>
  async (source) => ({ lines: await orNone(async () => [{ record: { ...(await read(source)) } }]) });

/** One walk after the other. */
export const chained =
  (...walks: readonly Walk[]): Walk =>
  async (source, text) => {
    const place = text === undefined ? { walk: 0 } : (JSON.parse(text) as { walk: number; at?: string });
    const { lines, next } = (await walks[place.walk]?.(source, place.at)) ?? { lines: [] };
    if (next !== undefined) return { lines, next: JSON.stringify({ walk: place.walk, at: next }) };
    if (place.walk + 1 >= walks.length) return { lines };
    return { lines, next: JSON.stringify({ walk: place.walk + 1 }) };
  };

type Parents = Readonly<Record<string, string>>;

/** The place in a walk below other records: the ids of the parents that remain of a page of parents. */
interface NestedPlace {
  parents: Parents[];
  /** The place after this page of parents; absent after their last page. */
  after?: string;
  /** The place in the walk below the first parent. */
  at?: string;
}

/**
 * Walks below each record of another walk. If a parent is deleted meanwhile, its walk is empty.
 * @param idsOf the ids of the parent, by which its children are read
 */
export const below =
  (
    parents: Walk,
    idsOf: (line: ExportLine) => Parents,
    walk: (source: ExportSource, ids: Parents, place: string | undefined) => Promise<Lines>,
  ): Walk =>
  async (source, text) => {
    let place = text === undefined ? await parentsAfter(undefined) : (JSON.parse(text) as NestedPlace);
    const lines: ExportLine[] = [];
    const { pageRows, pageBytes } = clubExportRules;
    for (let [visits, bytes] = [0, 0]; visits < pageRows && lines.length < pageRows && bytes < pageBytes; visits++) {
      const [first] = place.parents;
      if (!first) {
        if (place.after === undefined) return { lines };
        place = await parentsAfter(place.after);
        continue;
      }
      const found = await orEmpty(() => walk(source, first, place.at));
      lines.push(...found.lines);
      bytes += JSON.stringify(found.lines).length;
      if (found.next === undefined) {
        place.parents.shift();
        delete place.at;
      } else place.at = found.next;
    }
    if (place.parents.length === 0 && place.after === undefined) return { lines };
    return { lines, next: JSON.stringify(place) };

    async function parentsAfter(after: string | undefined): Promise<NestedPlace> {
      const page = await parents(source, after);
      return { parents: page.lines.map(idsOf), ...(page.next !== undefined && { after: page.next }) };
    }
  };

/** Reads each record of a list as a whole. The list shows only a part of it. */
export const whole = (list: Walk, read: (source: ExportSource, id: Id) => Promise<object>): Walk =>
  below(list, idOf, async (source, { id = '' }) => ({ lines: [{ record: { ...(await read(source, id)) } }] }));

/** Walks below each record of a list. The lines name the parent, because the records do not. */
export const listedBelow = <Row extends object>(
  parents: Walk,
  name: string,
  read: (source: ExportSource, id: Id, page: PageRequest) => Promise<Page<Row>>,
): Walk =>
  below(parents, idOf, async (source, { id = '' }, place) => {
    const { lines, ...rest } = await listed((from, page) => read(from, id, page))(source, place);
    return { ...rest, lines: lines.map(({ record }) => ({ of: { [name]: id }, record })) };
  });

export const idOf = ({ record }: ExportLine): Parents => ({ id: String(record['id']) });

const orEmpty = (read: () => Promise<Lines>): Promise<Lines> =>
  read().catch((error: unknown) => {
    if (isMissing(error)) return { lines: [] };
    throw error;
  });

const orNone = async (read: () => Promise<ExportLine[]>): Promise<ExportLine[]> =>
  (await orEmpty(async () => ({ lines: await read() }))).lines;

const isMissing = (error: unknown) => error instanceof DomainError && error.code === 'not_found';
