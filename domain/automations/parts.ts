/** The answers of the context `automations` to the questions that concern every context (domain/questions.ts). */
import { Automation } from '../../entities/automations/automation.ts';
import { AutomationCourseLook } from '../../entities/automations/automation-course-look.ts';
import { AutomationCourseWatch } from '../../entities/automations/automation-course-watch.ts';
import { AutomationReference } from '../../entities/automations/automation-reference.ts';
import { AutomationRun } from '../../entities/automations/automation-run.ts';
import { AutomationRunStep } from '../../entities/automations/automation-run-step.ts';
import { AutomationStepChange } from '../../entities/automations/automation-step-change.ts';
import { AutomationStepTally } from '../../entities/automations/automation-step-tally.ts';
import { AutomationVersion } from '../../entities/automations/automation-version.ts';
import { Course } from '../../entities/learning/course.ts';
import { rollingUp, type ContextQuestions } from '../questions.ts';
import { closeAutomations } from './closing.ts';
import { settleLeftMails } from './running/left-mails.ts';
import { forgetOldPaths, purgeStudentFromAutomations } from './student-removal.ts';
import { rollUpSteps } from './tallies.ts';
import { wakeWatchersOfCourses } from '../watches/watches.ts';
import { exportAutomations } from './student-export.ts';

export const automationsParts = {
  closeClub: closeAutomations,
  eraseStudent: (tx, { studentId }, now) => purgeStudentFromAutomations(tx, studentId, now),
  exportStudent: exportAutomations,
  changeEmail: null, // a mail uses the address that the student has when it is claimed
  clubRows: [
    { of: Automation, by: 'club' },
    { of: AutomationCourseLook, by: { parent: Course, column: 'courseId' } },
    { of: AutomationCourseWatch, by: { parent: AutomationRun, column: 'runId' } },
    { of: AutomationReference, by: { parent: AutomationVersion, column: 'versionId' } },
    { of: AutomationRun, by: { parent: Automation, column: 'automationId' } },
    { of: AutomationRunStep, by: { parent: AutomationRun, column: 'runId' } },
    {
      of: AutomationStepChange,
      by: { parent: AutomationVersion, column: 'versionId' },
      refersTo: [AutomationStepTally],
    },
    { of: AutomationStepTally, by: { parent: AutomationVersion, column: 'versionId' } },
    { of: AutomationVersion, by: { parent: Automation, column: 'automationId' } },
  ],
  retention: [
    rollingUp('automationStepChanges', rollUpSteps),
    { run: ({ db }, now) => forgetOldPaths(db, now) },
    { run: ({ db }) => settleLeftMails(db) },
    {
      async run({ db }, now) {
        const { woken, more } = await wakeWatchersOfCourses(db, now);
        return { rows: { courseWatchersWoken: woken }, more };
      },
    },
  ],
} satisfies ContextQuestions;
