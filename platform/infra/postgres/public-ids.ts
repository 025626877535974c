/** Gives a new course, lesson or agent its `public_id`, which identifies it in the addresses of the classroom. */
import { violates } from './errors.ts';
import { DomainError } from '../../core/errors.ts';
import { newId } from '../../core/ids.ts';
import { publicIdsFrom, type PublicKind } from '../../core/public-id.policy.ts';

const publicIdTaken = (kind: string) =>
  new DomainError('public_id_taken', `Another ${kind} of this club has this public_id.`);

/**
 * Without a requested `public_id`, tries ids from the title until an id is free.
 * @param insert writes the row unless its `public_id` is taken, and returns whether it did
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

/** A public id is unique for each kind within a club. */
export const publicIdIndexes: Readonly<Record<PublicKind, string>> = {
  course: 'courses_club_public_id',
  lesson: 'lessons_club_public_id',
  agent: 'agents_club_public_id',
  repository: 'repositories_club_public_id',
  space: 'community_spaces_club_public_id',
  mentorship: 'mentorships_club_public_id',
};

/** Turns the error of a taken `public_id` into the error for the caller. */
export function refusalOf(error: unknown, kind: PublicKind): unknown {
  return violates(error, publicIdIndexes[kind]) ? publicIdTaken(kind) : error;
}
