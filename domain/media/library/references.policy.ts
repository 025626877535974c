/**
 * References to content on other sites. Decides which addresses are accepted, and which part of an address is stored (MED-3, MED-9). The
 * service does not fetch any address.
 */
import type { ReferenceProvider } from '../../../entities/media/values.ts';
import { withoutEnd } from '../../../platform/core/text/ends.policy.ts';

const addressCharacters = 2_048;

interface Site {
  hosts: readonly string[];
  /** Returns the video's id from an address of the site; undefined if the address is not the page of a video. */
  idIn: (address: URL) => string | undefined;
  id: RegExp;
}

/** The segments of a path, without empty segments. */
const segmentsOf = ({ pathname }: URL) => pathname.split('/').filter((segment) => segment !== '');

/** The path segments that can stand before a video's id. */
const video1Paths = ['embed', 'shorts', 'live', 'v'];

const sites: Readonly<Record<'videosite1' | 'videosite2', Site>> = {
  videosite1: {
    hosts: [
      'youtube.com',
      'www.youtube.com',
      'm.youtube.com',
      'music.youtube.com',
      'www.youtube-nocookie.com',
      'youtu.be',
    ],
    id: /^[\w-]{11}$/,
    idIn(address) {
      const [first, second] = segmentsOf(address);
      if (address.hostname === 'youtu.be') return first;
      if (first === 'watch') return address.searchParams.get('v') ?? undefined;
      return video1Paths.includes(first ?? '') ? second : undefined;
    },
  },
  videosite2: {
    hosts: ['vimeo.com', 'www.vimeo.com', 'player.vimeo.com'],
    // An unlisted video has a number and a key.
    id: /^\d{1,19}(?:\/[0-9a-f]{1,40})?$/,
    idIn(address) {
      const segments = segmentsOf(address);
      const at = segments.findIndex((segment) => /^\d+$/.test(segment));
      const number = segments[at];
      if (number === undefined) return undefined;
      const key = address.searchParams.get('h') ?? segments[at + 1];
      return key === undefined ? number : `${number}/${key}`;
    },
  },
};

/** The pattern for ids of videos in the protected player. */
const playerId = /^[\w-]{1,128}$/;

/**
 * @param input the text that the administrator entered: an id, or a pasted address
 * @returns the value for `external_id`: the id of a video, the id or address of a protected video, or the address of other content.
 * Undefined for invalid input
 */
export function externalIdOf(provider: ReferenceProvider, input: string): string | undefined {
  const text = input.trim();
  if (provider === 'external') return addressOf(text)?.href;
  if (provider === 'protectedvideo') return playerId.test(text) ? text : addressOf(text)?.href;
  const site = sites[provider];
  if (site.id.test(text)) return text;
  // People often paste addresses without the scheme, such as `https://`.
  const address = addressOf(/^https?:/i.test(text) ? text.replace(/^http:/i, 'https:') : `https://${text}`);
  if (!address || !site.hosts.includes(address.hostname)) return undefined;
  const id = site.idIn(address);
  return id !== undefined && site.id.test(id) ? id : undefined;
}

// oxlint-disable-next-line no-control-regex -- a visible address contains none of these characters
const notOfAddresses = /[\u0000-\u0020\u007f-\u00a0\\<>"`{}|^\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]/;
/** Hosts that are not accepted: private names, names without a dot, IPv4 addresses, and IPv6 addresses in brackets. */
const privateName =
  /\.(?:localhost|local|internal|intranet|lan|home|corp|test|invalid|example|onion)$|^[^.]+$|^[\d.]+$/;

/** @returns an https address on the public web; undefined for any other text */
function addressOf(text: string): URL | undefined {
  if (text.length > addressCharacters || notOfAddresses.test(text) || !/^https:\/\/[^/]/i.test(text)) return undefined;
  const address = URL.parse(text);
  if (!address || address.username !== '' || address.password !== '' || address.port !== '') return undefined;
  if (privateName.test(withoutEnd(address.hostname, '.'))) return undefined;
  return address.href.length > addressCharacters ? undefined : address;
}
