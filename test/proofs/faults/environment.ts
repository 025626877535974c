/**
 * The environment variables of a service in a proof. The service has no mail server and no bucket, unless a proof adds variables for them.
 */
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
