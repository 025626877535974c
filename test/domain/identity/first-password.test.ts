import { expect } from 'chai';
import { setStudentPassword } from '../../../domain/identity/accounts/student-accounts.ts';
import { removeStudent } from '../../../domain/students/students.ts';
import { buildClub, buildStudent } from '../../toolkit/builders/clubs.ts';
import { testDeps } from '../../toolkit/stack/database.ts';

describe('the first password of a student', () => {
  it('is refused as unauthenticated if the student was removed', async () => {
    const deps = await testDeps();
    const club = await buildClub();
    const student = await buildStudent(club.id);
    await removeStudent(deps, club.id, student.id, new Date());
    const refused = setStudentPassword(deps, student.id, 'a long and unusual sentence');
    expect(await refused.catch((error: unknown) => error)).to.have.property('code', 'unauthenticated');
  });
});
