/** What a service is told that is to lose its servers: it reaches no mail server and no bucket, unless what follows names some. */
import os from 'node:os';
import { allocatorSettings } from '../../../dev/stack/allocator.ts';

export const bareEnvironment: Readonly<Record<string, string>> = {
  PATH: process.env['PATH'] ?? '',
  HOME: os.homedir(),
  LOG_LEVEL: 'warn',
  ...allocatorSettings,
  SMTP_URL: 'smtp://127.0.0.1:9',
  S3_ENDPOINT: 'http://127.0.0.1:9',
  S3_ACCESS_KEY_ID: 'unused',
  S3_SECRET_ACCESS_KEY: 'unused',
};
