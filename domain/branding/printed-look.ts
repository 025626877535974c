/** Finds the look of a club's printed documents: the club's current colour and logo (DEC-186). */
import { LRUCache } from 'lru-cache';
import { ClubBranding } from '../../entities/clubs/club-branding.ts';
import type { Id } from '../../platform/core/ids.ts';
import { createClubPermits } from '../../platform/engine/club-permits.ts';
import { makePrintPicture, type PrintPicture } from '../../platform/infra/images/print-picture.ts';
import type { ObjectStore } from '../../platform/infra/store/object-store.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../platform/infra/postgres/sql.ts';
import { standardAccent } from './branding.ts';

export const printedLogoRules = {
  /** In bytes. Larger variants of the logo's image are ignored. */
  mostFileBytes: 4 * 1_024 * 1_024,
  /** In bytes. */
  mostPictureBytes: 200 * 1_024,
  /** After this time the document is printed without a logo. */
  patienceMs: 10_000,
  /** The maximum number of processes that create pictures at the same time, for all clubs. */
  processes: 2,
  /** In bytes. */
  rememberedBytes: 16 * 1_024 * 1_024,
  /** A variant is sharp enough if its width or its height is at least this share of the printed width or height. */
  leastShare: 0.75,
} as const;

/** In pixels. */
interface Size {
  width: number;
  height: number;
}

/** A variant of the logo's image in the object store. The bytes that are stored under a key never change. */
export interface LogoFile extends Size {
  key: string;
  sizeBytes: number;
}

export interface PrintedLook {
  /** `#rrggbb`; null for the standard accent, for which each kind of document has its own colours. */
  accentColor: string | null;
  /** Null if the club has no logo, or if the logo's file is not public or gives no picture. */
  logo: LogoFile | null;
}

const lookColumns = columns(ClubBranding, ['accentColor'], 'branding');

/** @returns the look, with the smallest variant of the logo that is large enough */
export async function findPrintedLook(db: Queries, clubId: Id, printSize: Size): Promise<PrintedLook> {
  const row = await db.one<(typeof lookColumns)['row'] & { files: LogoFile[] | null }>(sql`
    SELECT ${lookColumns}, (
      SELECT jsonb_agg(jsonb_build_object('key', variant.object_key, 'sizeBytes', variant.size_bytes, 'width', variant.width, 'height', variant.height))
        FROM media JOIN media_renditions variant ON variant.media_id = media.id
       WHERE media.id = branding.logo_media_id AND media.club_id = branding.club_id AND media.visibility = 'public'
         AND media.status = 'ready' AND media.removed_at IS NULL AND variant.role IN ('preview', 'thumbnail')) AS files
      FROM club_branding branding WHERE club_id = ${clubId}`);
  return {
    accentColor: row === undefined || row.accentColor === standardAccent ? null : row.accentColor,
    logo: smallestSufficient(row?.files ?? [], printSize) ?? null,
  };
}

/** @returns whether documents can show the club's logo */
export async function hasPrintableLogo(db: Queries, clubId: Id): Promise<boolean> {
  return (await findPrintedLook(db, clubId, { width: 1, height: 1 })).logo !== null;
}

/** @returns the smallest variant that is sharp enough for this size; if none is sharp enough, the largest variant */
function smallestSufficient(files: readonly LogoFile[], printSize: Size): LogoFile | undefined {
  const { mostFileBytes, leastShare } = printedLogoRules;
  const usable = files
    // If a vector image states no size, the image library gives it a size of one pixel. Such a picture is not used.
    .filter(({ sizeBytes, width, height }) => sizeBytes <= mostFileBytes && width * height > 1)
    .toSorted((one, other) => one.width * one.height - other.width * other.height || one.sizeBytes - other.sizeBytes);
  const isSufficient = ({ width, height }: Size) =>
    width >= leastShare * printSize.width || height >= leastShare * printSize.height;
  return usable.find(isSufficient) ?? usable.at(-1);
}

/**
 * `unreadable`: no picture can be created from the bytes. `unavailable`: the bytes could not be read in time, and a later try may succeed.
 */
export type LogoPicture = PrintPicture | 'unreadable' | 'unavailable';

/** The finished pictures, by the variant's key and the printed size. */
const remembered = new LRUCache<string, Exclude<LogoPicture, 'unavailable'>>({
  maxSize: printedLogoRules.rememberedBytes,
  sizeCalculation: (picture) =>
    typeof picture === 'string' ? 100 : 100 + picture.colors.length + picture.alpha.length,
});
const beingMade = new Map<string, Promise<LogoPicture>>();
const permits = createClubPermits(printedLogoRules.processes);

/**
 * Reads a variant and creates the printed picture. It never throws, so that no document fails because of its logo.
 * @param printSize the size of the printed logo, in pixels
 */
export async function readLogo(
  storage: Pick<ObjectStore, 'stream'>,
  clubId: Id,
  logo: LogoFile,
  printSize: Size,
): Promise<LogoPicture> {
  const name = `${logo.key} ${printSize.width}x${printSize.height}`;
  const cachedPicture = remembered.get(name);
  if (cachedPicture !== undefined) return cachedPicture;
  const making = beingMade.get(name) ?? makeLogo(storage, clubId, logo, printSize).catch(() => 'unavailable' as const);
  beingMade.set(name, making);
  try {
    const picture = await making;
    if (picture !== 'unavailable') remembered.set(name, picture);
    return picture;
  } finally {
    beingMade.delete(name);
  }
}

async function makeLogo(
  storage: Pick<ObjectStore, 'stream'>,
  clubId: Id,
  { key, sizeBytes }: LogoFile,
  box: Size,
): Promise<LogoPicture> {
  const { patienceMs, mostPictureBytes: mostBytes } = printedLogoRules;
  const signal = AbortSignal.timeout(patienceMs);
  const make = async () => {
    const bytes = await readWhole(storage, key, sizeBytes, signal);
    return bytes ? ((await makePrintPicture(bytes, { box, mostBytes, signal })) ?? 'unreadable') : 'unavailable';
  };
  // Some stores ignore the abort signal. The race keeps such a store from delaying the document.
  return Promise.race([permits.run({ clubId }, make, signal), aborted(signal)]);
}

async function readWhole(
  storage: Pick<ObjectStore, 'stream'>,
  key: string,
  sizeBytes: number,
  signal: AbortSignal,
): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  const stream = await storage.stream(key, signal, { offset: 0, length: sizeBytes });
  for await (const piece of stream ?? []) pieces.push(piece);
  const bytes = Buffer.concat(pieces);
  return bytes.length === sizeBytes ? bytes : undefined;
}

async function aborted(signal: AbortSignal): Promise<'unavailable'> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve('unavailable'), { once: true }));
}
