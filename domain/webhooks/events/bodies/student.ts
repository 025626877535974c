/** The data of `student.created`, `.updated` and `.removed`, and the data of the student in every other body. */
import type { EventBodyOf } from '../../../../contract/contract.ts';
import type { DataReader, SubjectStudent } from './reading.ts';

export function studentRecord(student: SubjectStudent): EventBodyOf<'student.created'>['data'] {
  return {
    student: {
      id: student.id,
      name: student.name,
      email: student.email ?? '',
      verified: student.verified,
      created_at: student.createdAt.toISOString(),
    },
  };
}

const studentData: DataReader<EventBodyOf<'student.created'>['data']> = async (_tx, subjects) =>
  subjects.map(({ student }) => studentRecord(student));

export const studentBodies = {
  'student.created': studentData,
  'student.updated': studentData,
  'student.removed': (async (_tx, subjects) =>
    subjects.map(({ student: { id } }) => ({ student: { id } }))) satisfies DataReader<
    EventBodyOf<'student.removed'>['data']
  >,
};
