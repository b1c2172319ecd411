// wrangler.toml defines it; a test holds it to the version of the package.
declare const __DROVER_VERSION__: string;

export const version: string = __DROVER_VERSION__;
