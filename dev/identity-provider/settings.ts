/** The settings of a local identity provider, as its process gets them. */
export interface ProviderPerson {
  /** The id of the person at the provider (`sub`). */
  subject: string;
  login: string;
  password: string;
  email?: string;
  emailVerified?: boolean;
  name?: string;
}

export interface ProviderSettings {
  issuer: string;
  clientId: string;
  clientSecret: string;
  redirectUris: readonly string[];
  people: readonly ProviderPerson[];
  /** The secret that the front sends with each request; requests without it are refused. */
  frontSecret: string;
}

/** The environment variable with the settings, in JSON. */
export const settingsVariable = 'IDENTITY_PROVIDER_SETTINGS';
/** The header with the secret of the front. */
export const frontHeader = 'x-front-secret';
