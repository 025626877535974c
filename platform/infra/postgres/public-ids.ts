/** Gives a new course, lesson or agent its `public_id`, which identifies it in the addresses of the classroom. */
import { violates } from './errors.ts';
import { DomainError } from '../../core/errors.ts';
import { newId } from '../../core/ids.ts';
import { publicIdsFrom, type PublicKind } from '../../core/public-id.policy.ts';

const publicIdTaken = (kind: string) =>
  new DomainError('public_id_taken', `Another ${kind} of this club has this public_id.`);

/**
 * Inserts a record with the requested `public_id`. If no `public_id` is requested, the function tries ids that it derives from the title,
 * until it finds a free id.
 * @param insert writes the row unless its `public_id` is taken, and returns whether the row was written
 * @throws DomainError public_id_taken
 */
export async function insertWithPublicId(
  kind: PublicKind,
  { public_id: requestedId, title }: { public_id?: string; title: string },
  insert: (publicId: string) => Promise<boolean>,
): Promise<void> {
  if (requestedId !== undefined) {
    if (!(await insert(requestedId))) throw publicIdTaken(kind);
    return;
  }
  const candidates = publicIdsFrom(title, kind, () => newId().slice(-6));
  while (!(await insert(candidates.next().value)));
}

/** The unique index on the `public_id` of each kind within a club. */
export const publicIdIndexes: Readonly<Record<PublicKind, string>> = {
  course: 'courses_club_public_id',
  lesson: 'lessons_club_public_id',
  agent: 'agents_club_public_id',
  repository: 'repositories_club_public_id',
  space: 'community_spaces_club_public_id',
  mentorship: 'mentorships_club_public_id',
};

/** Converts the unique violation of a taken `public_id` to the error for the caller. */
export function refusalOf(error: unknown, kind: PublicKind): unknown {
  return violates(error, publicIdIndexes[kind]) ? publicIdTaken(kind) : error;
}
