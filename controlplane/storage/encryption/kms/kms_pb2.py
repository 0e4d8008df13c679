"""Generated from kms.proto by controlplane.storage.encryption.kms.generate; not edited by hand."""

from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

_POOL = DescriptorPool()
_POOL.AddSerializedFile(
    b'\n\tkms.proto\x12#controlplane.storage.en'
    b'cryption.kms"\x0f\n\rStatusRequest"[\n\x0eSta'
    b'tusResponse\x12\x18\n\x07version\x18\x01 \x01(\tR\x07versio'
    b'n\x12\x18\n\x07healthz\x18\x02 \x01(\tR\x07healthz\x12\x15\n\x06key_i'
    b'd\x18\x03 \x01(\tR\x05keyId"\x81\x02\n\x0eDecryptRequest\x12\x1e\n'
    b'\nciphertext\x18\x01 \x01(\x0cR\nciphertext\x12\x10\n\x03uid'
    b'\x18\x02 \x01(\tR\x03uid\x12\x15\n\x06key_id\x18\x03 \x01(\tR\x05keyId\x12f'
    b'\n\x0bannotations\x18\x04 \x03(\x0b2D.controlplane.s'
    b'torage.encryption.kms.DecryptRequest'
    b'.AnnotationsEntryR\x0bannotations\x1a>\n\x10An'
    b'notationsEntry\x12\x10\n\x03key\x18\x01 \x01(\tR\x03key\x12\x14\n\x05'
    b'value\x18\x02 \x01(\x0cR\x05value:\x028\x01"/\n\x0fDecryptRes'
    b'ponse\x12\x1c\n\tplaintext\x18\x01 \x01(\x0cR\tplaintext"'
    b'@\n\x0eEncryptRequest\x12\x1c\n\tplaintext\x18\x01 \x01(\x0c'
    b'R\tplaintext\x12\x10\n\x03uid\x18\x02 \x01(\tR\x03uid"\xf1\x01\n\x0fEn'
    b'cryptResponse\x12\x1e\n\nciphertext\x18\x01 \x01(\x0cR\nc'
    b'iphertext\x12\x15\n\x06key_id\x18\x02 \x01(\tR\x05keyId\x12g\n\x0b'
    b'annotations\x18\x03 \x03(\x0b2E.controlplane.sto'
    b'rage.encryption.kms.EncryptResponse.'
    b'AnnotationsEntryR\x0bannotations\x1a>\n\x10Ann'
    b'otationsEntry\x12\x10\n\x03key\x18\x01 \x01(\tR\x03key\x12\x14\n\x05v'
    b'alue\x18\x02 \x01(\x0cR\x05value:\x028\x01"\xb1\x02\n\x0fEncryptedO'
    b'bject\x12\x12\n\x04data\x18\x01 \x01(\x0cR\x04data\x12\x15\n\x06key_id\x18'
    b'\x02 \x01(\tR\x05keyId\x12)\n\x10encrypted_source\x18\x03 \x01'
    b'(\x0cR\x0fencryptedSource\x12g\n\x0bannotations\x18\x04'
    b' \x03(\x0b2E.controlplane.storage.encrypti'
    b'on.kms.EncryptedObject.AnnotationsEn'
    b'tryR\x0bannotations\x12\x1f\n\x0bsource_type\x18\x05 \x01('
    b'\x05R\nsourceType\x1a>\n\x10AnnotationsEntry\x12\x10\n'
    b'\x03key\x18\x01 \x01(\tR\x03key\x12\x14\n\x05value\x18\x02 \x01(\x0cR\x05valu'
    b'e:\x028\x01b\x06proto3'
)
_find = _POOL.FindMessageTypeByName

StatusRequest = GetMessageClass(_find("controlplane.storage.encryption.kms.StatusRequest"))
StatusResponse = GetMessageClass(_find("controlplane.storage.encryption.kms.StatusResponse"))
DecryptRequest = GetMessageClass(_find("controlplane.storage.encryption.kms.DecryptRequest"))
DecryptResponse = GetMessageClass(_find("controlplane.storage.encryption.kms.DecryptResponse"))
EncryptRequest = GetMessageClass(_find("controlplane.storage.encryption.kms.EncryptRequest"))
EncryptResponse = GetMessageClass(_find("controlplane.storage.encryption.kms.EncryptResponse"))
EncryptedObject = GetMessageClass(_find("controlplane.storage.encryption.kms.EncryptedObject"))
