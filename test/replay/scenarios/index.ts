/** All scenarios, for the histories of test/replay and for the recording of a release. */
import type { Scenarios } from '../recorder.ts';
import { agentScenarios } from './agents.ts';
import { automationScenarios } from './automations.ts';
import { bulkJobScenarios } from './bulk-jobs.ts';
import { clubExportScenarios } from './club-exports.ts';
import { campaignScenarios } from './campaigns.ts';
import { communityScenarios } from './community.ts';
import { clubErasureScenarios } from './club-erasures.ts';
import { erasureScenarios } from './erasures.ts';
import { learningScenarios } from './learning.ts';
import { mailScenarios } from './mail.ts';
import { mediaScenarios } from './media.ts';
import { mentorshipScenarios } from './mentorships.ts';
import { phoneCodeScenarios } from './phone-codes.ts';
import { salesScenarios } from './sales.ts';
import { studentExportScenarios } from './student-exports.ts';
import { studentImportScenarios } from './student-imports.ts';
import { webhookScenarios } from './webhooks.ts';

export const playedScenarios: Scenarios = {
  ...webhookScenarios,
  ...automationScenarios,
  ...campaignScenarios,
  ...communityScenarios,
  ...clubErasureScenarios,
  ...erasureScenarios,
  ...learningScenarios,
  ...mailScenarios,
  ...mediaScenarios,
  ...mentorshipScenarios,
  ...phoneCodeScenarios,
  ...salesScenarios,
  ...studentExportScenarios,
  ...studentImportScenarios,
  ...bulkJobScenarios,
  ...clubExportScenarios,
  ...agentScenarios,
};
