//! What credentials look like: the formats that their issuers publish.
//!
//! Formats with a fixed prefix are searched anywhere, also in the middle of a word: whoever wants to smuggle
//! one out must not get by with a letter in front. Those that words could resemble begin at a word. None can
//! match `<` or `>`, so a replacement is never taken for a secret (only the body of a private key may be
//! anything). Where a pattern has a group named `secret`, that group is the secret and the rest its context.

/// A format: what it is called, its pattern, and a further test where a pattern cannot say it all.
pub(super) type Format = (&'static str, &'static str, fn(&str) -> bool);

fn any(_: &str) -> bool {
    true
}

/// Told from prose: `Bearer authentication-required` holds no token.
fn has_digit(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
}

/// The catalogue. What stands first names what several match; the general formats come last.
pub(super) const FORMATS: &[Format] = &[
    ("stripe_secret_live", r"sk_live_[A-Za-z0-9]{16,}", any),
    ("stripe_pub_live", r"pk_live_[A-Za-z0-9]{16,}", any),
    ("github_pat", r"ghp_[A-Za-z0-9]{20,}", any),
    ("github_oauth", r"gho_[A-Za-z0-9]{20,}", any),
    ("aws_access_key", r"(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16,}", any),
    ("slack_bot", r"xoxb-[0-9A-Za-z-]{10,}", any),
    ("slack_refresh", r"xoxr-[0-9A-Za-z-]{10,}", any),
    // Code hosts.
    ("github_app", r"gh[usr]_[A-Za-z0-9_.-]{20,}", any),
    ("github_fine_grained", r"github_pat_[A-Za-z0-9_]{22,}", any),
    (
        "gitlab",
        r"gl(?:pat|oas|dt|rt|rtr|cbt|ptt|ft|imt|agent|soat|ffct)-[A-Za-z0-9_.=-]{20,}",
        any,
    ),
    ("gitlab_runner", r"GR1348941[A-Za-z0-9_-]{20,}", any),
    ("bitbucket_app", r"ATBB[A-Za-z0-9]{32,}", any),
    ("atlassian", r"ATATT3[A-Za-z0-9_=-]{50,}", any),
    // Clouds.
    (
        "aws_secret_key",
        r#"(?i)aws[^<>\r\n]{0,20}?(?:secret|key)[^<>\r\n]{0,20}?[:=][ "']{0,3}(?P<secret>[A-Za-z0-9/+]{40,})"#,
        any,
    ),
    ("aws_session_token", r"IQoJb3JpZ2lu[A-Za-z0-9+/=]{100,}", any),
    ("aws_bedrock", r"ABSK[A-Za-z0-9+/]{100,}={0,2}", any),
    ("google_api_key", r"AIza[0-9A-Za-z_-]{35,}", any),
    ("google_oauth", r"ya29\.[0-9A-Za-z_-]{20,}", any),
    ("google_refresh", r"1//0[0-9A-Za-z_-]{40,}", any),
    ("google_client_secret", r"GOCSPX-[0-9A-Za-z_-]{28,}", any),
    (
        "azure_client_secret",
        r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,}",
        any,
    ),
    (
        "azure_account_key",
        r"(?:Account|SharedAccess)Key=(?P<secret>[A-Za-z0-9+/]{40,}={0,2})",
        any,
    ),
    ("azure_sas", r"[?&]sig=(?P<secret>[A-Za-z0-9%+/]{40,}={0,2})", any),
    ("digitalocean", r"do[opr]_v1_[a-f0-9]{64,}", any),
    ("alibaba_access_key", r"(?-u:\b)LTAI[A-Za-z0-9]{16,}", has_digit),
    ("cloudflare_origin_ca", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{146}", any),
    ("fly", r"fm[12][ar]?_[A-Za-z0-9+/=,_-]{60,}", any),
    ("heroku", r"HRKU-[A-Za-z0-9_-]{36,}", any),
    ("netlify", r"nf[pcoub]_[A-Za-z0-9]{36,}", any),
    (
        "supabase",
        r"sb(?:p_[a-f0-9]{40,}|_secret_[A-Za-z0-9_-]{20,})",
        any,
    ),
    (
        "planetscale",
        r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,}",
        any,
    ),
    ("databricks", r"dapi[a-f0-9]{32,}(?:-[0-9]+)?", any),
    // Models.
    ("anthropic", r"sk-ant-[A-Za-z0-9_-]{20,}", any),
    ("openrouter", r"sk-or-v1-[a-f0-9]{40,}", any),
    (
        "openai",
        r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}",
        any,
    ),
    ("openai_legacy", r"(?-u:\b)sk-[A-Za-z0-9]{32,}", any),
    ("huggingface", r"(?:hf_|api_org_)[A-Za-z0-9]{30,}", any),
    ("groq", r"gsk_[A-Za-z0-9]{40,}", any),
    ("xai", r"(?-u:\b)xai-[A-Za-z0-9]{60,}", any),
    ("perplexity", r"pplx-[A-Za-z0-9]{40,}", any),
    ("replicate", r"(?-u:\b)r8_[A-Za-z0-9]{37,}", any),
    ("tavily", r"tvly-[A-Za-z0-9_-]{20,}", any),
    // Packages and builds.
    ("npm", r"npm_[A-Za-z0-9]{36,}", any),
    ("pypi", r"pypi-AgE[A-Za-z0-9_-]{50,}", any),
    ("rubygems", r"rubygems_[a-f0-9]{48,}", any),
    ("crates_io", r"(?-u:\b)cio[A-Za-z0-9]{32}(?-u:\b)", has_digit),
    ("nuget", r"(?-u:\b)oy2[a-z0-9]{43}(?-u:\b)", any),
    ("docker", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}", any),
    ("hashicorp_vault", r"hv[sbr]\.[A-Za-z0-9_-]{24,}", any),
    ("terraform", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9=_-]{60,}", any),
    ("pulumi", r"pul-[a-f0-9]{40,}", any),
    (
        "doppler",
        r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,}",
        any,
    ),
    ("onepassword", r"ops_eyJ[A-Za-z0-9+/_-]{200,}={0,3}", any),
    // Messages, payments, tools.
    ("slack_user", r"xox[apes](?:\.xox[bp])?-[0-9A-Za-z-]{10,}", any),
    ("slack_app", r"xapp-[0-9]-[0-9A-Za-z-]{20,}", any),
    (
        "slack_webhook",
        r"https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/+_-]{20,}",
        any,
    ),
    (
        "discord_webhook",
        r"https://(?:canary\.|ptb\.)?discord(?:app)?\.com/api/webhooks/[0-9]{10,}/[A-Za-z0-9_-]{40,}",
        any,
    ),
    (
        "discord_bot",
        r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}",
        any,
    ),
    ("telegram_bot", r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33,}", any),
    (
        "stripe_other",
        r"(?:(?:sk|rk)_(?:test|prod)|rk_live)_[A-Za-z0-9]{16,}",
        any,
    ),
    ("stripe_webhook", r"whsec_[A-Za-z0-9+/]{24,}={0,2}", any),
    ("square", r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}", any),
    ("shopify", r"shp(?:at|ca|pa|ss|rt|tka)_[A-Fa-f0-9]{32,}", any),
    ("sendgrid", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{32,}", any),
    ("mailgun", r"(?-u:\b)key-[a-f0-9]{32}(?-u:\b)", any),
    ("mailchimp", r"(?-u:\b)[a-f0-9]{32}-us[0-9]{1,2}(?-u:\b)", any),
    ("brevo", r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}", any),
    ("twilio", r"(?-u:\b)SK[a-f0-9]{32}(?-u:\b)", any),
    ("linear", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}", any),
    ("notion", r"(?:ntn|(?-u:\b)secret)_[A-Za-z0-9]{40,}", any),
    ("figma", r"fig[durf]_[A-Za-z0-9_-]{38,}", any),
    ("airtable", r"(?-u:\b)pat[A-Za-z0-9]{14}\.[a-f0-9]{64}", any),
    ("postman", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}", any),
    (
        "grafana",
        r"gl(?:sa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|c_eyJ[A-Za-z0-9+/=_-]{32,})",
        any,
    ),
    ("new_relic", r"NRA[KA]-[A-Z0-9]{27,}", any),
    ("sentry", r"sntry[su]_[A-Za-z0-9_=+/-]{40,}", any),
    ("dynatrace", r"dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}", any),
    ("age_secret_key", r"AGE-SECRET-KEY-1[0-9A-Z]{58}", any),
    // General formats.
    (
        "private_key",
        r"(?s)-----BEGIN[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?-----END[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----",
        any,
    ),
    (
        "private_key_part",
        r"-----BEGIN[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[ \t\r\n]|\\[rn])*(?P<secret>[A-Za-z0-9+/=\r\n\\]{16,})",
        any,
    ),
    (
        "jwt",
        r"ey[JI][A-Za-z0-9_-]{8,}\.ey[JI][A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
        any,
    ),
    (
        "authorization",
        r#"(?i)authorization["']?[ \t]*[:=][ \t]*["']?(?:basic|bearer|token|apikey)[ \t]+(?P<secret>[A-Za-z0-9._~+/-]{8,}={0,2})"#,
        any,
    ),
    (
        "bearer",
        r"(?i)(?-u:\b)bearer[ \t]+(?P<secret>[A-Za-z0-9._~+/-]{16,}={0,2})",
        has_digit,
    ),
    (
        "url_password",
        r"[A-Za-z][A-Za-z0-9+.-]{0,30}://[^ \t\r\n/:@<>?#]{0,128}:(?P<secret>[^ \t\r\n/@<>]{3,256})@",
        any,
    ),
];
