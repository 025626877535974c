/** Shared types of the parts of the development stack. */
import type { Child } from './children.ts';
import type { PortName } from './ports.ts';

export interface PartContext {
  /** The part's own directory, which exists. */
  readonly directory: string;
  /** The file of its output. */
  readonly logFile: string;
  /** Whether the data must survive a power cut. The data of a person's stack must survive, but the data of tests need not. */
  readonly durable: boolean;
  /** Whether its data are removed with its directory. */
  readonly temporary: boolean;
  readonly report: (line: string) => void;
}

/** A running part: its configuration for clients, and its process if it has its own. */
export interface Part {
  readonly environment: Readonly<Record<string, string>>;
  readonly child?: Child;
  stop(): Promise<void>;
}

export type PartName = 'temporal' | 'postgres' | 'storage' | 'mailbox';

/**
 * The parts of the stack, each with its variables. If the first variable of a part is set, another system already runs this part. Then the
 * stack does not start the part, and passes all variables of the part on unchanged.
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
