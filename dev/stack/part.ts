/** Types that the parts of the development stack share. */
import type { Child } from './children.ts';
import type { PortName } from './ports.ts';

export interface PartContext {
  /** The part's own directory, which already exists. */
  readonly directory: string;
  /** This file gets the output of the part. */
  readonly logFile: string;
  /** The data must survive a power cut: true if a person starts the stack, false for tests. */
  readonly durable: boolean;
  /** Removing the directory must remove all data of the part. */
  readonly temporary: boolean;
  readonly report: (line: string) => void;
}

/** A running part, with its configuration for clients, and its process if it has one. */
export interface Part {
  readonly environment: Readonly<Record<string, string>>;
  readonly child?: Child;
  stop(): Promise<void>;
}

export type PartName = 'temporal' | 'postgres' | 'storage' | 'mailbox';

/**
 * The parts of the stack and their environment variables. If a part's first variable is set, the user runs this part elsewhere: the stack
 * does not start it, and passes on its variables.
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

/** The maximum time from the start of a part until the part answers. */
export const startTimeoutMs = 60_000;
