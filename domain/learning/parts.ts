/** The answers of the context `learning` to the questions that concern every context (domain/questions.ts). */
import { Certificate } from '../../entities/learning/certificate.ts';
import { CertificateFile } from '../../entities/learning/certificate-file.ts';
import { Course } from '../../entities/learning/course.ts';
import { CourseCompletion } from '../../entities/learning/course-completion.ts';
import { CourseCompletionLook } from '../../entities/learning/course-completion-look.ts';
import { Lesson } from '../../entities/learning/lesson.ts';
import { LessonComment } from '../../entities/learning/lesson-comment.ts';
import { LessonProgress } from '../../entities/learning/lesson-progress.ts';
import { Level } from '../../entities/learning/level.ts';
import { Module } from '../../entities/learning/module.ts';
import { PointAward } from '../../entities/learning/point-award.ts';
import { Student } from '../../entities/identity/student.ts';
import { StudentLevel } from '../../entities/learning/student-level.ts';
import { StudentTag } from '../../entities/learning/student-tag.ts';
import { Tag } from '../../entities/learning/tag.ts';
import { folding, type ContextQuestions } from '../questions.ts';
import { moveCertificatesTo } from './certificates/certificates.ts';
import { countFilesOfPerson, eraseDueFiles } from './certificates/files.ts';
import { purgeStudentFromLearning } from './student-removal.ts';
import { exportLearning } from './student-export.ts';

export const learningParts = {
  closeClub: null, // a look at completions writes rows of students only, and ends with its row
  eraseStudent: (tx, { studentId }, now) => purgeStudentFromLearning(tx, studentId, now),
  exportStudent: exportLearning,
  remainsOfPerson: countFilesOfPerson,
  changeEmail: (tx, _vault, { studentId, after }) => moveCertificatesTo(tx, studentId, after),
  clubRows: [
    { of: Certificate, by: 'club' },
    { of: CertificateFile, by: { parent: Certificate, column: 'certificateId' } },
    { of: Course, by: 'club' },
    { of: CourseCompletion, by: { parent: Student, column: 'studentId' } },
    { of: CourseCompletionLook, by: 'club' },
    { of: Lesson, by: 'club' },
    { of: LessonComment, by: { parent: Student, column: 'studentId' } },
    { of: LessonProgress, by: { parent: Student, column: 'studentId' } },
    { of: Level, by: 'club' },
    { of: Module, by: { parent: Course, column: 'courseId' } },
    { of: PointAward, by: { parent: Student, column: 'studentId' } },
    { of: StudentLevel, by: { parent: Student, column: 'studentId' } },
    { of: StudentTag, by: { parent: Student, column: 'studentId' } },
    { of: Tag, by: 'club' },
  ],
  retention: [
    folding('certificates', ['student_name']),
    {
      async run(deps, now) {
        const { erased, more } = await eraseDueFiles(deps, now);
        return { rows: { certificateFilesErased: erased }, more };
      },
      waitsForOthers: true,
    },
  ],
} satisfies ContextQuestions;
