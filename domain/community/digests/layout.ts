/**
 * Builds the mail of a digest. The HTML frame of the mail is compiled once, and then filled in for each student (COMM-18). Every text that
 * a person wrote is escaped.
 */
import { escapeHtml } from '../../../platform/core/text/text.policy.ts';
import { noBranding, standardAccent } from '../../branding/branding.ts';
import { footerHtml, footerText, logoHtml } from '../../branding/html.ts';
import { dirAttribute } from '../../language/bidi.policy.ts';
import { languageOf, offeredLanguages, type OfferedLanguage } from '../../language/languages.ts';
import { wordingIn, type Wording } from '../../language/wording.ts';
import type { Letterhead } from '../../mail/content/compile.ts';
import { frameMjml, mjmlToHtml } from '../../mail/content/frame.ts';
import { digestRules } from './digests.policy.ts';
import type { News, NewsOfSpace } from './news.ts';
import { plainLine, wordsOf } from './words.ts';

interface DigestMail {
  news: News;
  clubName: string;
  /** The letterhead of the mail. Its language is the language that the student has chosen, or the club's language. */
  letterhead: Letterhead;
  /** The URL of the classroom, without a slash at the end. */
  classroom: string;
  timeZone: string;
  unsubscribeUrl: string;
}

/** Returns a placeholder for the frame. Its name is between two special characters that occur in no other text. */
const placeholder = (name: string) => `\uE000${name}\uE001`;
const placeholders = /\uE000(\w+)\uE001/;

type Frames = ReadonlyMap<OfferedLanguage, readonly string[]>;
let compiled: Promise<Frames> | undefined;

/** @returns the frame in each language. A frame is a list in which pieces of HTML and names of placeholders alternate */
function frames(): Promise<Frames> {
  compiled ??= Promise.all(offeredLanguages.map(async (language) => [language, await frame(language)] as const)).then(
    (entries) => new Map(entries),
  );
  return compiled;
}

async function frame(language: OfferedLanguage): Promise<readonly string[]> {
  const html = await mjmlToHtml(
    frameMjml({
      language,
      direction: wordingIn(language).direction,
      preheader: placeholder('preheader'),
      body: `<mj-text>${placeholder('body')}</mj-text>`,
      footer: placeholder('footer'),
      accentColor: standardAccent,
      logo: placeholder('logo'),
    }),
  );
  return html.split(placeholders);
}

/** Loads the MJML compiler before a mail is claimed, so that the loading time does not count against a lease. */
export async function prepareLayout(): Promise<Layout> {
  const framesByLanguage = await frames();
  return (mail) => {
    const language = languageOf(mail.letterhead.language);
    return render(framesByLanguage.get(language) ?? [], mail, wordingIn(language));
  };
}

export type Layout = (mail: DigestMail) => { subject: string; html: string; text: string };

function render(pieces: readonly string[], mail: DigestMail, wording: Wording): ReturnType<Layout> {
  const { news, letterhead, unsubscribeUrl } = mail;
  const subject = wording.say('digest.subject', { count: countOf(news.spaces), club: mail.clubName });
  const address = letterhead.postalAddress.split(/\r?\n/);
  const spaces = news.spaces.map((space) => shownSpace(space, mail, wording));
  const rest = news.moreSpaces > 0 ? [wording.say('digest.more_spaces', { count: news.moreSpaces })] : [];
  const reason = `${wording.say('digest.reason')} ${wording.say('digest.zone', { zone: wording.zone(news.spaces[0]?.posts[0]?.at ?? new Date(0), mail.timeZone) })}`;
  const unsubscribe = wording.say('footer.unsubscribe');
  const { branding = noBranding } = letterhead;
  const filled: Readonly<Record<string, string>> = {
    logo: logoHtml(branding, letterhead.clubName),
    preheader: escapeHtml(news.spaces.map(({ name }) => name).join(' · ')),
    body: [
      `<h1 style="margin:0 0 16px;font-size:24px;line-height:1.25">${escapeHtml(subject)}</h1>`,
      ...spaces.map((space) => spaceHtml(space, wording)),
      ...rest.map((words) => `<p>${escapeHtml(words)}</p>`),
    ].join('\n'),
    footer: `<p${dirAttribute(letterhead.clubName, wording.direction)}>${[letterhead.clubName, ...address].map(escapeHtml).join('<br>')}</p>
<p>${escapeHtml(reason)} <a href="${escapeHtml(unsubscribeUrl)}">${escapeHtml(unsubscribe)}</a></p>${footerHtml(branding, wording.direction)}`,
  };
  return {
    subject: subject.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' '),
    html: pieces
      .map((piece, at) =>
        at % 2 === 0 ? piece.replaceAll(standardAccent, branding.accentColor) : (filled[piece] ?? ''),
      )
      .join(''),
    text: `${[
      subject,
      ...spaces.map(spaceText),
      ...rest,
      `-- \n${letterhead.clubName}\n${letterhead.postalAddress}\n\n${[...footerText(branding), reason].join('\n\n')}\n${unsubscribe}: ${unsubscribeUrl}`,
    ].join('\n\n')}\n`,
  };
}

const countOf = (spaces: readonly NewsOfSpace[]) => spaces.reduce((sum, { count }) => sum + count, 0);

interface ShownPost {
  url: string;
  title: string;
  words: string;
  /** Empty if the author's account was deleted. */
  author: string;
  time: string;
}

interface ShownSpace {
  url: string;
  name: string;
  posts: readonly ShownPost[];
  more: string;
}

function shownSpace(
  { id, name, count, posts }: NewsOfSpace,
  { classroom, timeZone }: DigestMail,
  wording: Wording,
): ShownSpace {
  const more = count - posts.length;
  const moreKey = count === digestRules.counted ? 'digest.at_least_more_posts' : 'digest.more_posts';
  return {
    url: `${classroom}/community/spaces/${id}`,
    name,
    posts: posts.map((post) => ({
      url: `${classroom}/community/posts/${post.publicId}`,
      title: plainLine(post.title ?? '', digestRules.excerpt),
      words: wordsOf(post.body, digestRules.excerpt),
      author: plainLine(post.author ?? '', 100),
      time: wording.shortMoment(post.at, timeZone),
    })),
    more: more === 0 ? '' : wording.say(moreKey, { count: more }),
  };
}

const linkHtml = (url: string, words: string, style = '') =>
  `<a href="${escapeHtml(url)}"${style === '' ? '' : ` style="${style}"`}>${escapeHtml(words)}</a>`;

function spaceHtml({ url, name, posts, more }: ShownSpace, wording: Wording): string {
  return [
    `<h2${dirAttribute(name, wording.direction)} style="margin:24px 0 12px;font-size:18px;line-height:1.25">${linkHtml(url, name)}</h2>`,
    ...posts.map((post) => postHtml(post, wording)),
    ...(more === '' ? [] : [`<p style="margin:0 0 12px">${linkHtml(url, more)}</p>`]),
  ].join('\n');
}

/** Divides long words, so that the mail is not wider than the screen of a phone. */
const paragraph = 'margin:0;overflow-wrap:anywhere;word-break:break-word';

function postHtml({ url, title, words, author, time }: ShownPost, { direction, ...wording }: Wording): string {
  const shownWords = words === '' && title === '' ? wording.say('digest.post_without_words') : words;
  const heading =
    title === ''
      ? ''
      : `<p${dirAttribute(title, direction)} style="${paragraph};font-weight:600">${linkHtml(url, title)}</p>`;
  const wordsHtml = title === '' ? linkHtml(url, shownWords) : escapeHtml(shownWords);
  return `<div style="margin:0 0 16px">${heading}<p${dirAttribute(shownWords, direction)} style="${paragraph}">${wordsHtml}</p><p style="${paragraph};font-size:13px;color:#5b6270">${author === '' ? '' : `<bdi>${escapeHtml(author)}</bdi> · `}${time}</p></div>`;
}

function spaceText({ url, name, posts, more }: ShownSpace): string {
  return [
    `${name}\n${url}`,
    ...posts.map(({ title, words, author, time, url: post }) =>
      [title, words, author === '' ? time : `${author} · ${time}`, post].filter(Boolean).join('\n'),
    ),
    ...(more === '' ? [] : [more]),
  ].join('\n\n');
}
