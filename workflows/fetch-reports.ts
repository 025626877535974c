/** Fetches delivery reports from the operator's mailbox (BNC-7). A Temporal Schedule starts this workflow. */
import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';

const activities = proxyActivities<Activities['fetchReports']>({
  startToCloseTimeout: '2m', // a step reads for a minute, and its connection ends after 90 s
  heartbeatTimeout: '10s', // the step sends a heartbeat every 2.5 s, so Temporal soon notices a dead worker
  retry: { maximumAttempts: 2 }, // the next run comes within five minutes, and a server that refuses must not be asked without end
});

/** A run reads at most this many pages of 200 messages, so that its history stays short. */
const maxPages = 20;

/** @returns how many reports were recorded, and how many messages stay in the mailbox */
export async function fetchReports(): Promise<{ recorded: number; left: number }> {
  const total = { recorded: 0, left: 0 };
  for (let pages = 1; ; pages++) {
    const page = await activities.fetchReports(Date.now());
    total.recorded += page.recorded;
    total.left += page.left;
    if (!page.more || pages === maxPages) return total;
  }
}
