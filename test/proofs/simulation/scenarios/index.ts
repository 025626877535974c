/** The scenarios of the workflow types. The file does not compile if a workflow type has no entry (ADR 33). */
import type { WorkflowType } from '../../../../platform/engine/workflow-types.ts';
import type { Simulation } from '../simulation.ts';
import type { Stage } from '../stage.ts';
import type { Footing } from './ground.ts';
import { addOns } from './add-ons.ts';
import { answers } from './answers.ts';
import { automations } from './automations.ts';
import { bulkJobs } from './bulk-jobs.ts';
import { clubExports } from './club-exports.ts';
import { campaigns } from './campaigns.ts';
import { clubErasures } from './club-erasures.ts';
import { courseCompletions } from './course-completions.ts';
import { digests } from './digests.ts';
import { imports } from './imports.ts';
import { mailDomains } from './mail-domains.ts';
import { mails } from './mails.ts';
import { mediaExpiry } from './media-expiry.ts';
import { mediaMoves } from './media-moves.ts';
import { mediaProcessing } from './media-processing.ts';
import { mediaTranscriptions } from './media-transcriptions.ts';
import { mentorships } from './mentorships.ts';
import { personErasures } from './person-erasures.ts';
import { phoneCodes } from './phone-codes.ts';
import { overages } from './overages.ts';
import { salesOfPlatforms } from './sales.ts';
import { studentExports } from './student-exports.ts';
import { sources } from './sources.ts';
import { spaceFills } from './space-fills.ts';
import { webhooks, webhooksDirectly, webhooksOnBothLanes } from './webhooks.ts';

type Scenario = (sim: Simulation, ground: Footing) => Promise<Stage>;

/** The scenarios by their name in `--engine`. */
export const scenarios = {
  webhooks,
  'webhooks-directly': webhooksDirectly,
  'webhooks-on-both-lanes': webhooksOnBothLanes,
  mails,
  'add-ons': addOns,
  'person-erasures': personErasures,
  'phone-codes': phoneCodes,
  overages,
  'media-moves': mediaMoves,
  'media-expiry': mediaExpiry,
  'media-processing': mediaProcessing,
  'media-transcriptions': mediaTranscriptions,
  campaigns,
  sales: salesOfPlatforms,
  'space-fills': spaceFills,
  'club-erasures': clubErasures,
  'student-exports': studentExports,
  'course-completions': courseCompletions,
  imports,
  'bulk-jobs': bulkJobs,
  'club-exports': clubExports,
  automations,
  'mail-domains': mailDomains,
  digests,
  mentorships,
  answers,
  sources,
} as const satisfies Record<string, Scenario>;
export type Engine = keyof typeof scenarios;
export const engines = Object.keys(scenarios) as readonly Engine[];

export const playedBy: Readonly<Record<WorkflowType, Engine>> = {
  webhookDelivery: 'webhooks',
  endpointGate: 'webhooks',
  addOn: 'add-ons',
  overageCharge: 'overages',
  transactionalMail: 'mails',
  personErasure: 'person-erasures',
  phoneCode: 'phone-codes',
  mentorshipSession: 'mentorships',
  mediaExpiry: 'media-expiry',
  salesNotice: 'sales',
  subscriptionEnd: 'sales',
  studentImport: 'imports',
  bulkJob: 'bulk-jobs',
  clubExport: 'club-exports',
  agentAnswer: 'answers',
  campaignRun: 'campaigns',
  testMail: 'campaigns',
  mailDomain: 'mail-domains',
  automationRun: 'automations',
  automationGate: 'automations',
  sourceIndex: 'sources',
  mediaProcessing: 'media-processing',
  mediaMove: 'media-moves',
  mediaTranscription: 'media-transcriptions',
  clubErasure: 'club-erasures',
  studentExport: 'student-exports',
  courseCompletion: 'course-completions',
  spaceFill: 'space-fills',
  spaceDigest: 'digests',
};
