/** The answers of the context `access` to the questions that concern every context (domain/questions.ts). */
import { AccessDelivery } from '../../entities/access/access-delivery.ts';
import { Cohort } from '../../entities/access/cohort.ts';
import { Course } from '../../entities/learning/course.ts';
import { Enrollment } from '../../entities/access/enrollment.ts';
import { RegistrationLink } from '../../entities/access/registration-link.ts';
import { RegistrationLinkClaim } from '../../entities/access/registration-link-claim.ts';
import { RegistrationLinkDelivery } from '../../entities/access/registration-link-delivery.ts';
import { StudentImport } from '../../entities/access/student-import.ts';
import { StudentImportAddress } from '../../entities/access/student-import-address.ts';
import { StudentImportRow } from '../../entities/access/student-import-row.ts';
import type { ContextQuestions } from '../questions.ts';
import { closeAccess } from './closing.ts';
import { hideEnrollmentsOf } from './enrollments/enrollments.ts';
import { forgetAddressesLate, forgetFilesThatName, noteAddressLeft } from './imports/removals.ts';
import { exportAccess } from './student-export.ts';

export const accessParts = {
  closeClub: closeAccess,
  async eraseStudent(tx, { clubId, studentId }, now) {
    await hideEnrollmentsOf(tx, studentId, now);
    await forgetFilesThatName(tx, { clubId, studentId });
  },
  exportStudent: exportAccess,
  changeEmail: (tx, vault, { clubId, studentId, before }) =>
    noteAddressLeft(tx, vault, { clubId, studentId, email: before }),
  clubRows: [
    { of: AccessDelivery, by: 'club' },
    { of: Cohort, by: { parent: Course, column: 'courseId' } },
    { of: Enrollment, by: 'club' },
    { of: RegistrationLink, by: 'club' },
    { of: RegistrationLinkClaim, by: { parent: RegistrationLink, column: 'linkId' } },
    { of: RegistrationLinkDelivery, by: { parent: RegistrationLink, column: 'linkId' } },
    { of: StudentImport, by: 'club' },
    { of: StudentImportAddress, by: { parent: StudentImport, column: 'importId' } },
    { of: StudentImportRow, by: { parent: StudentImport, column: 'importId' } },
  ],
  retention: [
    {
      async run({ db }) {
        return { rows: { importsForgotten: await forgetAddressesLate(db) }, more: false };
      },
    },
  ],
} satisfies ContextQuestions;
