/** Types that the parts of the development stack share. */
import type { Child } from './children.ts';
import type { PortName } from './ports.ts';

export interface PartContext {
  /** The part's own directory, which already exists. */
  readonly directory: string;
  /** The file for the output of the part. */
  readonly logFile: string;
  /** Whether the data must survive a power cut. This is true for the stack that a person starts, and false for tests. */
  readonly durable: boolean;
  /** Whether removing the part's directory also removes all its data. */
  readonly temporary: boolean;
  readonly report: (line: string) => void;
}

/** A running part: its configuration for clients, and its process if the part has a separate process. */
export interface Part {
  readonly environment: Readonly<Record<string, string>>;
  readonly child?: Child;
  stop(): Promise<void>;
}

export type PartName = 'temporal' | 'postgres' | 'storage' | 'mailbox';

/**
 * The parts of the stack, each with its environment variables. If the first variable of a part is set, the user runs this part elsewhere.
 * In this case the stack does not start the part, and passes on all variables of the part unchanged.
 */
export const parts: Readonly<
  Record<PartName, { title: string; ports: readonly PortName[]; variables: readonly [string, ...string[]] }>
> = {
  temporal: {
    title: 'Temporal',
    ports: ['temporal', 'temporalUi'],
    variables: ['TEMPORAL_ADDRESS', 'TEMPORAL_NAMESPACE', 'TEMPORAL_UI_URL'],
  },
  postgres: { title: 'Postgres', ports: ['postgres'], variables: ['DATABASE_URL'] },
  storage: {
    title: 'S3',
    ports: ['storage'],
    variables: [
      ...(['S3_ENDPOINT', 'S3_REGION', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'] as const),
      ...(['S3_PRIVATE_BUCKET', 'S3_PUBLIC_BUCKET'] as const),
    ],
  },
  mailbox: { title: 'Mailbox', ports: ['smtp', 'mailbox'], variables: ['SMTP_URL', 'MAILBOX_URL'] },
};

/** The maximum time from the start of a part until it answers. */
export const startTimeoutMs = 60_000;
