/**
 * The two handbooks for `../questions.json`. They are not in the repository: Debian's archive has them, under these names, versions and
 * checksums.
 */
import type { CorpusLanguage } from '../corpus.ts';

export interface HandbookPackage {
  name: string;
  version: string;
  /** The checksum of the .deb file. */
  sha256: string;
  /** A path below the archive's root. */
  path: string;
}

/**
 * The Debian Administrator's Handbook, by Raphaël Hertzog, Roland Mas, Freexian SARL and its translators. CC BY-SA 3.0 or GPL 2 and later.
 */
export const administratorsHandbook: HandbookPackage = {
  name: 'debian-handbook',
  version: '11.20220922',
  sha256: '3d5dbeac1f1afc9c094eab9d0f701f6ecff99c4927d5a4794cf6c85678134faa',
  path: 'pool/main/d/debian-handbook/debian-handbook_11.20220922_all.deb',
};

/** GNOME Help, by the GNOME Documentation Project and its translators. CC BY-SA 3.0. */
export const gnomeHelp: HandbookPackage = {
  name: 'gnome-user-docs',
  version: '43.0-2',
  sha256: '0d635a840747958ca84da778b40d341f1155603851f922c9a171f5a181d6a39f',
  path: 'pool/main/g/gnome-user-docs/gnome-user-docs_43.0-2_all.deb',
};

/** The name of each chapter's first file. */
export const chapters: Record<CorpusLanguage, readonly string[]> = {
  en: ['the-debian-project', 'apt', 'unix-services', 'network-infrastructure', 'advanced-administration', 'security'],
  pt: [
    'case-study',
    'existing-setup',
    'packaging-system',
    'solving-problems',
    'basic-configuration',
    'network-services',
    'workstation',
    'short-remedial-course',
  ],
};

export interface Subject {
  /** The document gets the title of this guide. */
  guide: string;
  /** The names of the document's topics begin with one of these texts, in this order. */
  prefixes: readonly string[];
}

export const subjects: Record<CorpusLanguage, readonly Subject[]> = {
  en: [
    { guide: 'a11y', prefixes: ['a11y-'] },
    { guide: 'backup-why', prefixes: ['backup-'] },
    { guide: 'bluetooth', prefixes: ['bluetooth-', 'sharing-'] },
    { guide: 'color', prefixes: ['color-'] },
    { guide: 'disk', prefixes: ['disk-'] },
    { guide: 'net', prefixes: ['net-'] },
    { guide: 'media', prefixes: ['sound-', 'video-', 'music-'] },
    { guide: 'user-accounts', prefixes: ['user-', 'session-', 'privacy-'] },
  ],
  pt: [
    { guide: 'files', prefixes: ['files-', 'nautilus-'] },
    { guide: 'accounts', prefixes: ['contacts-', 'accounts-', 'clock-'] },
    { guide: 'power', prefixes: ['power-'] },
    { guide: 'hardware', prefixes: ['hardware-'] },
    { guide: 'printing', prefixes: ['printing-'] },
    { guide: 'prefs-display', prefixes: ['display-', 'look-', 'prefs-'] },
    { guide: 'mouse', prefixes: ['mouse-', 'wacom-', 'touchscreen-'] },
    { guide: 'shell-overview', prefixes: ['shell-'] },
    { guide: 'keyboard', prefixes: ['keyboard-'] },
  ],
};
