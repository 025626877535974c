/** The activity of `retention`. */
import type { MediaPlatform } from '../domain/media/media.ts';
import { eraseDue } from '../domain/media/erasure.ts';
import { retain } from '../domain/webhooks/retention.ts';

export type RetentionActivities = ReturnType<typeof retentionActivities>;

export function retentionActivities(platform: MediaPlatform) {
  return {
    /** @param now the workflow's time in Unix milliseconds @returns what one batch of each kind came to */
    async retain(now: number) {
      const rows = await retain(platform.database, new Date(now));
      const { erased, refused, more } = await eraseDue(platform, new Date(now));
      return { ...rows, mediaErased: erased, mediaRefused: refused, more: rows.more || more };
    },
  };
}
