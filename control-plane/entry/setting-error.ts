/** A setting is wrong or missing: one line for a person, exit code 2. */
export class SettingError extends Error {
  override readonly name = "SettingError";
}
