/** Reads the data of a student for sessions and lists, and builds the student's record in the API (ACC-1). */
import type { RecordOf } from '../../contract/contract.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { ObjectStore } from '../../platform/infra/store/object-store.ts';
import { avatarOf } from './avatars.ts';

export interface StudentIdentity {
  id: Id;
  name: string;
  email: string;
  verifiedAt: Date | null;
  hasPassword: boolean;
  createdAt: Date;
  avatarKey: string | null;
  /** The language that the student has chosen. Null if the club's language applies. */
  language: string | null;
  clubId: Id;
  clubSlug: string;
  clubLanguage: string;
}

export async function presentStudent(student: StudentIdentity, storage: ObjectStore): Promise<RecordOf<'Student'>> {
  return {
    id: student.id,
    name: student.name,
    email: student.email,
    verified: student.verifiedAt !== null,
    has_password: student.hasPassword,
    created_at: student.createdAt.toISOString(),
    club_id: student.clubId,
    club_slug: student.clubSlug,
    ...(student.language !== null && { language: student.language }),
    ...(await avatarOf(storage, student.avatarKey)),
  };
}
